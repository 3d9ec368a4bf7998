/**
 * Verifies that a delivery comes from the subscribed instance: Standard Webhooks 1.0, with the secret from the subscription's
 * response. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface RawRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly content?: string;
}

/** @param secret `whsec_…` */
export function isGenuine(secret: string, { headers = {}, content = '' }: RawRequest): boolean {
  const header = (name: string) => {
    // Zapier passes `webhook-id` as `Http-Webhook-Id`. Svix, on instances that send through it, has its own header names.
    const names = [`webhook-${name}`, `svix-${name}`];
    const found = Object.entries(headers).find(([one]) => names.includes(one.toLowerCase().replace(/^http-/, '')));
    return found === undefined ? '' : String(found[1]);
  };
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signed = `${header('id')}.${header('timestamp')}.${content}`;
  const expected = createHmac('sha256', key).update(signed).digest();
  return header('signature')
    .split(' ')
    .map((one) => Buffer.from(one.replace(/^v1,/, ''), 'base64'))
    .some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}
