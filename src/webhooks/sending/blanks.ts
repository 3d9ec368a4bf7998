/**
 * Takes an endpoint's secrets out of what is kept of its answers: receivers sometimes answer with what they were sent. Pure.
 * Not here: who reads what is kept (http/).
 */
import type { EndpointTarget } from '../endpoint/endpoint.ts';
import { BLANK } from '../endpoint/endpoint-schema.ts';

/** Bytes of an answer's body that are kept. */
const KEPT_BYTES = 16_384;
/** A shorter value is found in many texts by chance, and is no secret. */
const MIN_SECRET = 6;

export class Blanks {
  /** The header fields of the endpoint's own, as they are shown. */
  readonly headers: Readonly<Record<string, string>>;
  /** So many bytes of a body decide what is kept of it: a secret is seen whole when it crosses the end. */
  readonly maxBytes: number;
  readonly #secrets: readonly string[];

  constructor({ secrets, headers }: Pick<EndpointTarget, 'secrets' | 'headers'>) {
    this.headers = Object.fromEntries(Object.keys(headers).map((name) => [name, BLANK]));
    const all = [
      ...secrets.flatMap(({ secret }) => [secret, secret.replace(/^whsec_/, '')]),
      ...Object.values(headers),
    ];
    const values = all.filter(({ length }) => length >= MIN_SECRET);
    // As they are, and as they stand in JSON.
    this.#secrets = [...new Set(values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]))];
    this.maxBytes = KEPT_BYTES + Math.max(0, ...this.#secrets.map((secret) => Buffer.byteLength(secret)));
  }

  text(text: string): string {
    let shown = text;
    if (text.length >= MIN_SECRET) for (const secret of this.#secrets) shown = shown.replaceAll(secret, BLANK);
    return shown;
  }

  /** The beginning of a body, as it is kept. */
  body(body: string): string {
    const text = this.text(body);
    return Buffer.byteLength(text) <= KEPT_BYTES ? text : Buffer.from(text).subarray(0, KEPT_BYTES).toString('utf8');
  }
}
