/** Redacts an endpoint's secrets in stored responses: some receivers echo what they were sent. */
import type { EndpointDeliverySettings } from '../endpoint/endpoint.ts';
import { MASKED_HEADER_VALUE } from '../endpoint/endpoint-schema.ts';

/** Stored bytes of a response body. */
const KEPT_BYTES = 16_384;
/** A shorter value occurs in many texts by chance, and is no secret. */
const MIN_SECRET = 6;

export class SecretRedactor {
  /** The custom header fields with values redacted. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes of a body that are searched: more than are stored, so that a secret that crosses the end is recognized. */
  readonly maxBytes: number;
  readonly #secrets: readonly string[];

  constructor({ secrets, headers }: Pick<EndpointDeliverySettings, 'secrets' | 'headers'>) {
    this.headers = Object.fromEntries(Object.keys(headers).map((name) => [name, MASKED_HEADER_VALUE]));
    const all = [
      ...secrets.flatMap(({ secret }) => [secret, secret.replace(/^whsec_/, '')]),
      ...Object.values(headers),
    ];
    const values = all.filter(({ length }) => length >= MIN_SECRET);
    // Plain, and as escaped in JSON.
    this.#secrets = [...new Set(values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]))];
    this.maxBytes = KEPT_BYTES + Math.max(0, ...this.#secrets.map((secret) => Buffer.byteLength(secret)));
  }

  text(text: string): string {
    let shown = text;
    if (text.length >= MIN_SECRET)
      for (const secret of this.#secrets) shown = shown.replaceAll(secret, MASKED_HEADER_VALUE);
    return shown;
  }

  /** The stored beginning of a body. */
  body(body: string): string {
    const text = this.text(body);
    return Buffer.byteLength(text) <= KEPT_BYTES ? text : Buffer.from(text).subarray(0, KEPT_BYTES).toString('utf8');
  }
}
