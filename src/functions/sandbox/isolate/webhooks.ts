/**
 * `ctx.webhooks`: verifies the signature of a received webhook as specified by Standard Webhooks 1.0, with its header names and
 * those of Svix. Sent to the isolate as text, so it references nothing outside itself.
 */
import type { CryptoUtils } from './digests.ts';
import type { EncodingUtils } from './encodings.ts';
import type { OutcomeUtils } from './errors-and-response.ts';

/** The verified headers of a webhook. */
export interface VerifiedWebhook {
  /** The same for each attempt of a delivery. */
  readonly id: string;
  readonly sentAt: Date;
}

export interface WebhookVerifier {
  /** @param secrets the values of the plugin, by name; without a prototype */
  readonly of: (secrets: Readonly<Record<string, string>>) => {
    readonly verify: (headers: unknown, text: unknown, secret: unknown) => Promise<VerifiedWebhook>;
  };
}

/** Runs in an isolate, before any author code. */
export function makeWebhookVerifier(
  { utf8, fromBase64, bytesOf }: EncodingUtils,
  { hmac }: CryptoUtils,
  { makeError }: Pick<OutcomeUtils, 'makeError'>,
): WebhookVerifier {
  const uncurry = Function.prototype.bind.bind(Function.prototype.call) as <T, A extends unknown[], R>(
    fn: (this: T, ...rest: A) => R,
  ) => (self: T, ...rest: A) => R;
  const lower = uncurry(String.prototype.toLowerCase);
  const slice = uncurry(String.prototype.slice);
  const split = uncurry(String.prototype.split as (this: string, by: string) => string[]);
  const matches = uncurry(RegExp.prototype.test);
  const { freeze, create, keys } = Object;
  const { isArray } = Array;
  const Dates = Date;
  const { now } = Date;
  const Bytes = Uint8Array;
  const TOLERANCE_MS = 300_000;
  const PREFIX = 'whsec_';
  const SECONDS = /^\d{1,12}$/;

  const refused = (message: string): Error => makeError({ code: 'invalid-token', status: 401, message, details: {} });
  const misused = (message: string): Error =>
    makeError({ code: 'invalid-parameter', status: 400, message, details: {} });

  const headersOf = (given: unknown): Readonly<Record<string, string>> => {
    const headers: Record<string, string> = create(null);
    if (typeof given !== 'object' || given === null) throw misused('Pass the headers of the request as an object');
    if (isArray(given)) for (const pair of given) headers[lower(`${pair[0]}`)] = `${pair[1]}`;
    else for (const name of keys(given)) headers[lower(name)] = `${(given as Record<string, unknown>)[name]}`;
    return headers;
  };

  /** The headers of one naming scheme, all or none: a mixture would come from two senders. */
  const signedBy = (headers: Readonly<Record<string, string>>) => {
    let missing = '';
    for (const by of ['webhook', 'svix']) {
      const [id, timestamp, signatures] = [headers[`${by}-id`], headers[`${by}-timestamp`], headers[`${by}-signature`]];
      if (id && timestamp && signatures) return { id, timestamp, signatures };
      const lacks = !id ? 'id' : !timestamp ? 'timestamp' : 'signature';
      if (missing === '' || id || timestamp || signatures) missing = `${by}-${lacks}`;
    }
    throw refused(`The request is not a signed webhook: the header ${missing} is missing`);
  };

  const sentAtOf = (timestamp: string): Date => {
    const at = matches(SECONDS, timestamp) ? Number(timestamp) * 1_000 : Number.NaN;
    if (!(at >= 0)) throw refused('The timestamp of the webhook is not a number of seconds');
    const age = now() - at;
    if (age > TOLERANCE_MS) throw refused('The webhook was sent more than 5 minutes ago');
    if (age < -TOLERANCE_MS) throw refused('The timestamp of the webhook is more than 5 minutes in the future');
    return new Dates(at);
  };

  const messageOf = (id: string, timestamp: string, given: unknown): Uint8Array => {
    if (typeof given !== 'string' && (typeof given !== 'object' || given === null)) {
      throw misused('Pass the text of the request, as it was sent');
    }
    const head = utf8(`${id}.${timestamp}.`);
    let body: Uint8Array;
    try {
      body = typeof given === 'string' ? utf8(given) : bytesOf(given);
    } catch {
      throw misused('Pass the text of the request as it was sent, not the value parsed from it');
    }
    const message = new Bytes(head.length + body.length);
    for (let index = 0; index < head.length; index += 1) message[index] = head[index] ?? 0;
    for (let index = 0; index < body.length; index += 1) message[head.length + index] = body[index] ?? 0;
    return message;
  };

  const keyOf = (secrets: Readonly<Record<string, string>>, given: unknown): Uint8Array => {
    if (typeof given !== 'string') throw misused('Use the name of a secret of the plugin');
    const isValue = slice(given, 0, PREFIX.length) === PREFIX;
    const value = secrets[given] ?? (isValue ? given : '');
    // The name may be a secret by mistake, so it is not repeated.
    if (value === '') throw misused('The plugin has no secret of this name, or it is not set');
    const base64 = slice(value, 0, PREFIX.length) === PREFIX ? slice(value, PREFIX.length) : value;
    let key: Uint8Array = new Bytes(0);
    try {
      key = fromBase64(base64);
    } catch {
      // Reported below, as an empty key is.
    }
    if (key.length === 0) throw misused('The secret is not base64, with or without whsec_ before it');
    return key;
  };

  /** Constant time, independent of where the signatures differ. */
  const isSame = (given: string, expected: Uint8Array): boolean => {
    let bytes: Uint8Array;
    try {
      bytes = fromBase64(given);
    } catch {
      return false;
    }
    let difference = bytes.length ^ expected.length;
    for (let index = 0; index < expected.length; index += 1) difference |= (bytes[index] ?? 0) ^ (expected[index] ?? 0);
    return difference === 0;
  };

  return {
    of: (secrets) =>
      freeze({
        verify: async (headers: unknown, text: unknown, secret: unknown) => {
          const key = keyOf(secrets, secret);
          const { id, timestamp, signatures } = signedBy(headersOf(headers));
          const sentAt = sentAtOf(timestamp);
          const expected = hmac(key, messageOf(id, timestamp, text));
          let [isRight, isKnown] = [false, false];
          for (const one of split(signatures, ' ')) {
            if (slice(one, 0, 3) !== 'v1,') continue;
            isKnown = true;
            // A header that was sent twice is joined with commas.
            const base64 = slice(one, -1) === ',' ? slice(one, 3, -1) : slice(one, 3);
            if (isSame(base64, expected)) isRight = true;
          }
          if (!isKnown) throw refused('The webhook has no signature of version v1');
          if (!isRight) {
            throw refused('No signature of the webhook is valid: the secret is wrong, or the text was changed');
          }
          return freeze({ id, sentAt });
        },
      }),
  };
}
