/** Verifies a delivery, and formats it for the terminal. Pure. */
import { isPlainObject } from '../../lib/plain-object.ts';
import { stripControlChars } from '../../lib/strip-control-chars.ts';
import { Signer } from '../../webhooks/sending/signature.ts';
import type { ReceivedWebhook, WebhookReply } from './receiver.ts';

const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
/** The header names of Svix by default. */
const SVIX_HEADERS = ['svix-id', 'svix-timestamp', 'svix-signature'] as const;
const TOLERANCE_S = 300;

/**
 * Why a call is not a genuine delivery, as the end of a sentence; null if it is genuine.
 * @param now milliseconds since 1970
 */
export function findDeliveryIssue({ headers, body }: ReceivedWebhook, secret: string, now: number): string | null {
  const names = SVIX_HEADERS.some((name) => headers[name] !== undefined) ? SVIX_HEADERS : HEADERS;
  const missing = names.find((name) => headers[name] === undefined);
  if (missing !== undefined) return `it has no header ${missing}`;
  const [id = '', timestamp = '', signatures = ''] = names.map((name) => headers[name]);
  const seconds = Number(timestamp);
  if (!/^\d{1,12}$/.test(timestamp)) return 'its timestamp is not a number of seconds';
  if (Math.abs(now / 1_000 - seconds) > TOLERANCE_S) return 'its timestamp is more than five minutes off';
  const right = new Signer([{ secret, until: null }]).headers(id, body, seconds * 1_000)['webhook-signature'] ?? '';
  return signatures.split(' ').includes(right) ? null : 'its signature does not match';
}

/** The id of a delivery: the same on every attempt. */
export function readDeliveryId({ headers }: ReceivedWebhook): string {
  return headers['webhook-id'] ?? headers['svix-id'] ?? '';
}

export interface VerifiedDelivery {
  readonly call: ReceivedWebhook;
  readonly reply: WebhookReply;
  readonly issue: string | null;
  /** Whether the same delivery has come before. */
  readonly isRepeated: boolean;
  readonly at: Date;
}

/** A call in one line. */
export function formatDeliveryLine({ call, reply, issue, isRepeated, at }: VerifiedDelivery): string {
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
  const response = `responded ${reply.status}`;
  if (issue !== null)
    return stripControlChars(`${time}  ${call.method} ${call.path}  NOT VERIFIED: ${issue}, ${response}`);
  const event = parsed(call.body);
  const [type, document, id] = [event['type'], event['documentId'] ?? '', readDeliveryId(call)].map(String);
  const state = `verified${isRepeated ? ', again' : ''}, ${response}`;
  return stripControlChars(`${time}  ${type?.padEnd(20)}  ${document?.padEnd(24)}  ${id}  ${state}`);
}

/** The headers and the body of a call, indented below its line. */
export function formatDeliveryDetails({ method, path, headers, body }: ReceivedWebhook): string {
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const event = parsed(body);
  const text = Object.keys(event).length === 0 ? body : JSON.stringify(event, null, 2);
  const lines = [`${method} ${path}`, ...head, '', ...text.split('\n')];
  return lines.map((line) => `    ${stripControlChars(line)}`.trimEnd()).join('\n');
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? value : {};
  } catch {
    return {};
  }
}
