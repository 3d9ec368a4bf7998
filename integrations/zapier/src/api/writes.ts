/**
 * Writes that happen once: each carries an Idempotency-Key, so it can be sent again when its answer was lost on the way. Not
 * here: uploads, for which Millrace has no such keys.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Bundle, HttpResponse, ZObject } from 'zapier-platform-core';
import { type Call, call } from './requests.ts';

/** What a connection that broke is called by Zapier's client, which is node-fetch. */
const BROKEN = 'FetchError';

export const IDEMPOTENCY_FIELD = {
  key: 'idempotencyKey',
  label: 'Idempotency Key',
  type: 'string',
  required: false,
  helpText:
    'A value that stands for this one write, such as the ID of the event that triggered it. If the step runs again with the same value within 24 hours, nothing is written a second time.',
} as const;

/**
 * Writes, and writes again with the same key if the connection broke before the answer was there.
 * @param path segments of the path
 */
export async function write(z: ZObject, bundle: Bundle, path: readonly string[], options: Call): Promise<HttpResponse> {
  const given = bundle.inputData['idempotencyKey'];
  const key = given === undefined || given === '' ? randomUUID() : keyOf(String(given));
  const send = () => call(z, path, { ...options, headers: { ...options.headers, 'idempotency-key': key } });
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof Error) || error.name !== BROKEN) throw error;
    return send();
  }
}

/** Any text as a key, which has at most 255 visible ASCII characters. */
function keyOf(text: string): string {
  return `zapier-${createHash('sha256').update(text).digest('hex')}`;
}
