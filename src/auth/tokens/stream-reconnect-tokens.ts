/**
 * Passes with which a client reopens a stream after its one-time ticket was used. A pass is a signed text, so nothing
 * is stored. It contains a session or a key, which is read again each time, so a pass never outlives them. It is valid
 * only together with the ticket, from the same origin and for the same path.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import type { SigningKeys } from '../../lib/hmac-signing-keys.ts';

/** How long a stream lasts with all its interruptions, in milliseconds. */
export const STREAM_LIFETIME_MS = 24 * 3_600_000;

const FACTS = Type.Object({
  kind: Type.Union([Type.Literal('user'), Type.Literal('admin'), Type.Literal('key')]),
  id: Type.String(),
  /** Of a user. */
  session: Type.Optional(Type.String()),
  /** Milliseconds since 1970. */
  expiresAt: Type.Number(),
});

export type ReconnectTokenClaims = Static<typeof FACTS>;

/** What a pass is bound to. */
export interface ReconnectTokenBinding {
  readonly ticket: string;
  /** The origin of the page; undefined for one of this server. */
  readonly origin: string | undefined;
  /** The path of the stream. */
  readonly path: string;
}

export class StreamReconnectTokens {
  readonly #keys: SigningKeys;
  readonly #now: () => number;

  constructor(keys: SigningKeys, now: () => number) {
    this.#keys = keys;
    this.#now = now;
  }

  sign(facts: ReconnectTokenClaims, use: ReconnectTokenBinding): string {
    const payload = Buffer.from(JSON.stringify(facts)).toString('base64url');
    return `${payload}.${macOf(this.#keys.signing, payload, use)}`;
  }

  /** The content of a pass; null when it is not valid, has expired, or is bound to another use. */
  read(pass: string, use: ReconnectTokenBinding): ReconnectTokenClaims | null {
    const [payload = '', mac = ''] = pass.split('.', 2);
    const given = Buffer.from(mac);
    const isOurs = this.#keys.verifying.some((key) => {
      const expected = Buffer.from(macOf(key, payload, use));
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
    if (!isOurs) return null;
    const facts: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return Check(FACTS, facts) && facts.expiresAt > this.#now() ? facts : null;
  }
}

function macOf(key: KeyObject, payload: string, { ticket, origin, path }: ReconnectTokenBinding): string {
  const text = JSON.stringify(['stream', payload, ticket, origin ?? null, path]);
  return createHmac('sha256', key).update(text).digest('base64url');
}
