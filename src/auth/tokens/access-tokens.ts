/**
 * Verifies access tokens: short-lived proofs of a session, signed by the key ring. A token contains a user and a
 * session but no roles: these are read where it is verified.
 */
import type { SigningKeySet } from './signing-keys.ts';

/** Lifetime of an access token, in milliseconds. */
export const ACCESS_TOKEN_LIFETIME_MS = 10 * 60_000;

/** Far above any token of ours. */
const MAX_LENGTH = 2_048;

/** The content of a verified token. */
export interface AccessTokenClaims {
  readonly subject: string;
  readonly session: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export class AccessTokens {
  readonly #ring: SigningKeySet;

  constructor(ring: SigningKeySet) {
    this.#ring = ring;
  }

  /** Throws for every token that is not valid. */
  async verify(token: string): Promise<AccessTokenClaims> {
    if (token.length > MAX_LENGTH) throw new Error('The token is too long');
    const { sub, sid, exp } = await this.#ring.verify(token);
    if (typeof sub !== 'string' || typeof sid !== 'string' || typeof exp !== 'number') {
      throw new TypeError('The token lacks a claim');
    }
    return { subject: sub, session: sid, expiresAt: exp * 1_000 };
  }
}
