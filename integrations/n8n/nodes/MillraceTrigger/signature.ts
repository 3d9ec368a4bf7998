/**
 * The signature of a delivery, by Standard Webhooks 1.0: whether a request comes from Millrace, unchanged and now. Pure but for
 * the clock that is passed in. Not here: what happens with the request (MillraceTrigger.node.ts).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** How far the time of a delivery may be away, in seconds: an older one may be a recording. */
const TOLERANCE_SECONDS = 5 * 60;

export interface Delivery {
  /** The headers of the request, by their names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes that arrived; JSON that was parsed and written again has other bytes. */
  readonly body: Buffer;
}

/**
 * Whether one of the signatures is that of the secret, and the time is near. There are several while a secret is rotated.
 * @param secret `whsec_` and base64
 * @param now in milliseconds since 1970
 */
export function isGenuine({ headers, body }: Delivery, secret: string, now: number): boolean {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => {
    // Svix, where an installation sends by it, has names of its own.
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
