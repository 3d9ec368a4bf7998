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
    // Svix, where an installation sends by it, has names of its own.
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
