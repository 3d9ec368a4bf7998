/**
 * Requires the second factor after the first one: throws `mfa-required` with a ticket to continue, so that no client
 * sends the password twice.
 */
import { hash } from 'node:crypto';
import { MillraceError } from '../../lib/errors.ts';
import type { User } from '../identity/user.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { SessionOrigin } from '../sessions/session.ts';
import type { FirstFactorProof, MfaGate } from '../sign-in/mfa-gate.ts';
import { ONE_TIME_TOKEN_MS, type OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Factors } from './totp-factor.ts';

export interface MfaChallengeDeps {
  readonly factors: Factors;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly oneTimeTokens: OneTimeTokens;
}

export class MfaChallenges implements MfaGate {
  readonly #deps: MfaChallengeDeps;

  constructor(deps: MfaChallengeDeps) {
    this.#deps = deps;
  }

  hasFactor(user: string): Promise<boolean> {
    return this.#deps.factors.hasFactor(user);
  }

  async challenge({ _id }: User, proof: FirstFactorProof): Promise<MillraceError> {
    const { passwords, oneTimeTokens } = this.#deps;
    const { identity = null, email = null } = proof;
    const facts = { password: await passwordFingerprint(passwords, _id), identity, email };
    const ticket = await oneTimeTokens.make('factor', _id, { facts });
    return new MillraceError('mfa-required', 'Sign in with a code of the second factor as well', {
      hint: 'POST /auth/mfa/login with this ticket and a code of the authenticator, or a recovery code',
      extensions: { ticket, expiresIn: ONE_TIME_TOKEN_MS.factor / 1_000 },
      headers: { 'www-authenticate': 'Bearer realm="millrace"' },
    });
  }

  verifyCode(user: User, code: string, origin: SessionOrigin): Promise<void> {
    return this.#deps.factors.verifyCode(user, code, origin);
  }
}

/** A string that changes whenever the password is set. */
export async function passwordFingerprint(passwords: Pick<Passwords, 'mark'>, user: string): Promise<string> {
  return hash('sha256', (await passwords.mark(user)) ?? '', 'base64url');
}
