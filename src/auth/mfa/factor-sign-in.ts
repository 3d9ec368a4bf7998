/**
 * Completes a sign-in with the second factor. Its ticket works once, and only as long as the first proof holds: the
 * same password, the same identity, the same e-mail address, an enabled user.
 */
import { actorText } from '../../database/system-collection.ts';
import { invalidCredentials, invalidToken } from '../identity/auth-errors.ts';
import { type User, userHasEmail } from '../identity/user.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import type { AuthenticationResponseJSON } from '../passkeys/webauthn.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { SignIn, SignInResult } from '../sign-in/sign-in.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Users } from '../users/users.ts';
import { passwordFingerprint } from './challenge.ts';
import type { Factors } from './totp-factor.ts';

/** The proof of the second factor: a code, or a passkey. */
export type FactorProof = { readonly code: string } | { readonly credential: AuthenticationResponseJSON };

export interface FactorSignInDeps {
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly users: Users;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly signIn: SignIn;
}

export class FactorSignIn {
  readonly #deps: FactorSignInDeps;

  constructor(deps: FactorSignInDeps) {
    this.#deps = deps;
  }

  /**
   * Opens the session. After a wrong code or passkey the ticket still works.
   * @throws MillraceError `invalid-token` for the ticket, `invalid-credentials`, `rate-limited`
   */
  async complete(ticket: string, proof: FactorProof, origin: SessionOrigin): Promise<SignInResult> {
    const { factors, passkeys, users, passwords, oneTimeTokens, signIn } = this.#deps;
    const seen = await oneTimeTokens.peek('factor', ticket);
    if (seen?.subject == null) throw invalidToken();
    const { password, identity, email = null } = seen.facts;
    const holds = async ({ _id, disabled, email: address, identities = [] }: User) =>
      !disabled &&
      (email === null || (typeof email === 'string' && userHasEmail({ email: address }, email))) &&
      (identity === null || identities.some(({ id }) => id === identity)) &&
      (await passwordFingerprint(passwords, _id)) === password;
    const user = await users.get(seen.subject);
    if (!(await holds(user))) throw invalidToken();
    if ('code' in proof) await factors.verifyCode(user, proof.code, origin);
    else if ((await passkeys.verify(proof.credential, ticket, origin)).user._id !== user._id)
      throw invalidCredentials();
    if ((await oneTimeTokens.take('factor', ticket)) === null) throw invalidToken();
    if (email !== null)
      await users.markEmailVerified(user, changeStampFromOrigin(origin, actorText(user.kind, user._id)));
    return signIn.openSession(user, origin, {
      isStillValid: holds,
      ...(typeof identity === 'string' ? { identity } : {}),
    });
  }
}
