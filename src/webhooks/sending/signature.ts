/**
 * Signs deliveries by Standard Webhooks 1.0: an HMAC-SHA256 over id, timestamp and body, one for each active secret.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { SigningSecret } from '../endpoint/endpoint.ts';

const PREFIX = 'whsec_';

interface Key {
  readonly key: KeyObject;
  readonly until: number | null;
}

export class Signer {
  readonly #keys: readonly Key[];

  /** @param secrets each `whsec_` and base64, the newest first */
  constructor(secrets: readonly SigningSecret[]) {
    this.#keys = secrets.map(({ secret, until }) => ({ key: keyOf(secret), until }));
  }

  /**
   * The header fields that sign an attempt. During a rotation the new secret and each older one that is still valid
   * sign, so a receiver may change its secret at any moment.
   * @param id of the event: the same for every attempt
   * @param now milliseconds since 1970
   */
  headers(id: string, body: string, now: number): Record<string, string> {
    const timestamp = String(Math.floor(now / 1_000));
    const live = this.#keys.filter(({ until }) => until === null || until > now);
    const signatures = live.map(({ key }) => {
      const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
      return `v1,${hmac.digest('base64')}`;
    });
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
  }
}

function keyOf(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64'));
}
