/**
 * Goes on with a sign-in that waits for the second factor. Its ticket works once, and only as long as the first proof holds:
 * the same password, the same identity, the same address, an account that is not disabled. Not here: making the ticket (second-question.ts).
 */
import { actorText } from '../../database/system-collection.ts';
import type { Passwords } from '../accounts/passwords.ts';
import type { Users } from '../accounts/users.ts';
import { invalidCredential, signInFailed } from '../identity/refusals.ts';
import { isAddressOf, type User } from '../identity/user.ts';
import type { SignedIn, SignIn } from '../sign-in/sign-in.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Factors } from './factors.ts';
import type { Passkeys } from './passkeys.ts';
import { passwordStamp } from './second-question.ts';
import type { AuthenticationResponseJSON } from './webauthn.ts';

/** What proves the second factor: a code, or a passkey. */
export type FactorProof = { readonly code: string } | { readonly credential: AuthenticationResponseJSON };

export interface FactorSignInParts {
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly users: Users;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly singleUse: SingleUse;
  readonly signIn: SignIn;
}

export class FactorSignIn {
  readonly #parts: FactorSignInParts;

  constructor(parts: FactorSignInParts) {
    this.#parts = parts;
  }

  /**
   * Opens the session. After a wrong code or passkey the ticket still works.
   * @throws MillraceError `invalid-credential` for the ticket, `sign-in-failed`, `rate-limited`
   */
  async enter(ticket: string, proof: FactorProof, origin: SessionOrigin): Promise<SignedIn> {
    const { factors, passkeys, users, passwords, singleUse, signIn } = this.#parts;
    const seen = await singleUse.see('factor', ticket);
    if (seen?.subject == null) throw invalidCredential();
    const { password, identity, email = null } = seen.facts;
    const holds = async ({ _id, disabled, email: address, identities = [] }: User) =>
      !disabled &&
      (email === null || (typeof email === 'string' && isAddressOf({ email: address }, email))) &&
      (identity === null || identities.some(({ id }) => id === identity)) &&
      (await passwordStamp(passwords, _id)) === password;
    const user = await users.get(seen.subject);
    if (!(await holds(user))) throw invalidCredential();
    if ('code' in proof) await factors.prove(user, proof.code, origin);
    else if ((await passkeys.prove(proof.credential, ticket, origin)).user._id !== user._id) throw signInFailed();
    if ((await singleUse.take('factor', ticket)) === null) throw invalidCredential();
    if (email !== null) await users.proveAddress(user, stampOf(origin, actorText(user.kind, user._id)));
    return signIn.welcome(user, origin, { holds, ...(typeof identity === 'string' ? { identity } : {}) });
  }
}
