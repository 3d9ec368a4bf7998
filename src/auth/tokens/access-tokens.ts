/**
 * Verifies access tokens: short-lived proofs of a session, signed by the key ring. A token names an account and a session
 * and nothing of roles: these are read where it is verified. Not here: issuing them (sessions.ts), and the refresh tokens
 * (refresh-token.ts).
 */
import type { KeyRing } from './key-ring.ts';

/** How long an access token lives, in milliseconds. */
export const ACCESS_MS = 10 * 60_000;

/** Far above any token of ours. */
const MAX_LENGTH = 2_048;

/** What a verified token proves. */
export interface Proof {
  readonly subject: string;
  readonly session: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export class AccessTokens {
  readonly #ring: KeyRing;

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  /** Throws for every token that is not valid. */
  async verify(token: string): Promise<Proof> {
    if (token.length > MAX_LENGTH) throw new Error('The token is too long');
    const { sub, sid, exp } = await this.#ring.verify(token);
    if (typeof sub !== 'string' || typeof sid !== 'string' || typeof exp !== 'number') {
      throw new TypeError('The token lacks a claim');
    }
    return { subject: sub, session: sid, expiresAt: exp * 1_000 };
  }
}
