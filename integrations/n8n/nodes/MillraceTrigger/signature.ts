/**
 * Verifies the signature of a delivery (Standard Webhooks 1.0): that a request comes from Millrace, unchanged and recent. Pure
 * except for the clock, which is a parameter.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Maximum age of a delivery in seconds: an older one may be a replay attack. */
const TOLERANCE_SECONDS = 5 * 60;

export interface Delivery {
  /** The headers of the request, by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes that arrived; reserialized JSON would differ. */
  readonly body: Buffer;
}

/**
 * Whether one of the signatures matches the secret, and the time is recent. There are several during the rotation of a secret.
 * @param secret `whsec_` and base64
 * @param now in milliseconds since 1970
 */
export function isGenuine({ headers, body }: Delivery, secret: string, now: number): boolean {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => {
    // Svix, on instances that send through it, has its own header names.
    const value = headers[`webhook-${name}`] ?? headers[`svix-${name}`];
    return typeof value === 'string' ? value : '';
  }) as [string, string, string];
  if (id === '' || !/^[0-9]{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  const right = Buffer.from(`v1,${mac}`);
  return signatures
    .split(' ')
    .map((entry) => Buffer.from(entry))
    .some((entry) => entry.length === right.length && timingSafeEqual(entry, right));
}
