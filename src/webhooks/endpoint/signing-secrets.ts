/**
 * The secrets that sign deliveries (Standard Webhooks 1.0): how one is made and read, and how one takes the place of another
 * without a moment in which receivers know none of them. Pure but for the random bytes. Not here: signing (sending/), and
 * where secrets are kept (endpoint-store.ts).
 */
import { randomBytes } from 'node:crypto';
import type { LiveSecret } from './endpoint.ts';

const PREFIX = 'whsec_';
const BYTES = 32;
const MIN_BYTES = 24;
const MAX_BYTES = 64;
const MAX_LIVE = 3;

export function newSecret(): string {
  return `${PREFIX}${randomBytes(BYTES).toString('base64')}`;
}

/**
 * What is wrong with a secret that was sent, as a sentence without its subject; null for nothing. The sentence does not show
 * the secret.
 */
export function secretFault(secret: string): string | null {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : null;
  const bytes = text === null ? null : Buffer.from(text, 'base64');
  // The decoder passes over characters that are not base64.
  if (bytes === null || bytes.toString('base64') !== text) return `must be ${PREFIX} and base64`;
  if (bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES) return null;
  return `must hold ${MIN_BYTES} to ${MAX_BYTES} bytes, and holds ${bytes.length}`;
}

/**
 * The secrets after a rotation, the newest first. Those that have signed until now sign for the grace time besides, but no
 * longer than they would have without it; the oldest go when there would be too many.
 * @param graceMs how long the secret before still signs, in milliseconds
 * @param now milliseconds since 1970
 */
export function rotated(
  secrets: readonly LiveSecret[],
  secret: string,
  graceMs: number,
  now: number,
): readonly LiveSecret[] {
  const before = secrets.map((one) => ({ ...one, until: Math.min(one.until ?? Number.MAX_VALUE, now + graceMs) }));
  return [{ secret, until: null }, ...before.filter(({ until }) => until > now)].slice(0, MAX_LIVE);
}
