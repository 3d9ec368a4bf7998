/**
 * Secrets that sign deliveries (Standard Webhooks 1.0): generation, validation, and rotation without a moment in which
 * receivers know none of them. Pure, except for random bytes.
 */
import { randomBytes } from 'node:crypto';
import type { SigningSecret } from './endpoint.ts';

const PREFIX = 'whsec_';
const BYTES = 32;
const MIN_BYTES = 24;
const MAX_BYTES = 64;
const MAX_LIVE = 3;

export function createSigningSecret(): string {
  return `${PREFIX}${randomBytes(BYTES).toString('base64')}`;
}

/**
 * What is wrong with a secret from a request, as a sentence without its subject; null if valid. The sentence does not
 * contain the secret.
 */
export function signingSecretIssue(secret: string): string | null {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : null;
  const bytes = text === null ? null : Buffer.from(text, 'base64');
  // The decoder skips characters that are not base64.
  if (bytes === null || bytes.toString('base64') !== text) return `must be ${PREFIX} and base64`;
  if (bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES) return null;
  return `must have ${MIN_BYTES} to ${MAX_BYTES} bytes, and has ${bytes.length}`;
}

/**
 * The secrets after a rotation, newest first. The previous ones still sign for the grace period, but no longer than
 * they would have without the rotation; the oldest are dropped when there are too many.
 * @param graceMs how long the previous secret still signs, in milliseconds
 * @param now milliseconds since 1970
 */
export function rotateSigningSecrets(
  secrets: readonly SigningSecret[],
  secret: string,
  graceMs: number,
  now: number,
): readonly SigningSecret[] {
  const before = secrets.map((one) => ({ ...one, until: Math.min(one.until ?? Number.MAX_VALUE, now + graceMs) }));
  return [{ secret, until: null }, ...before.filter(({ until }) => until > now)].slice(0, MAX_LIVE);
}
