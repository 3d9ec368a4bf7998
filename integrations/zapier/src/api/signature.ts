/**
 * Checks that a delivery comes from the installation that was subscribed to: Standard Webhooks 1.0, with the secret that the
 * subscription answered. Pure. Not here: the time of the signature, because Zapier may run a held delivery days later.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface RawRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly content?: string;
}

/** @param secret `whsec_…` */
export function isGenuine(secret: string, { headers = {}, content = '' }: RawRequest): boolean {
  const header = (name: string) => {
    // Zapier hands `webhook-id` on as `Http-Webhook-Id`.
    const found = Object.entries(headers).find(([one]) => one.toLowerCase().replace(/^http-/, '') === name);
    return found === undefined ? '' : String(found[1]);
  };
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signed = `${header('webhook-id')}.${header('webhook-timestamp')}.${content}`;
  const expected = createHmac('sha256', key).update(signed).digest();
  return header('webhook-signature')
    .split(' ')
    .map((one) => Buffer.from(one.replace(/^v1,/, ''), 'base64'))
    .some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}
