/**
 * Confirms an address by the link that was sent to it. The link alone proves who reads the e-mails of the address, not who
 * registered the account, so what was registered stays only for a request that shows that it comes from the same person. HTTP:
 * sign-in-routes.ts.
 */
import { actorText, type Stamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { checkPassword, type Passwords } from '../accounts/passwords.ts';
import type { Users } from '../accounts/users.ts';
import { linkUnusable } from '../identity/refusals.ts';
import { isAddressOf, isUnproven, signInNames, type User } from '../identity/user.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Recovery } from './recovery.ts';
import type { SignIn } from './sign-in.ts';
import type { SingleUse } from './single-use.ts';

export interface AddressProofDeps {
  readonly users: Users;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly singleUse: SingleUse;
  readonly signIn: Pick<SignIn, 'confirmPassword'>;
  readonly recovery: Pick<Recovery, 'setByMail'>;
}

/** What a request shows besides the secret of the link. */
export interface Confirmation {
  /** The account whose session the request has; null without a session. */
  readonly account: string | null;
  /** The present password of the account. */
  readonly password?: string | undefined;
  /** A password that replaces what was registered. */
  readonly newPassword?: string | undefined;
}

export class AddressProof {
  readonly #deps: AddressProofDeps;

  constructor(deps: AddressProofDeps) {
    this.#deps = deps;
  }

  /**
   * Confirms an address. With a session of the account, or with its password, everything stays as it is. Otherwise everything
   * that was registered before ends, if the account registered itself and has no proven address; an account that has one keeps
   * it. The link stays usable after an error that the client can correct.
   * @throws MillraceError `link-unusable`, `unique-violation`, `not-authenticated`, `sign-in-failed`, `password-refused`,
   *   `rate-limited`, `document-not-found`
   */
  async confirm(token: string, { account, password, newPassword }: Confirmation, origin: SessionOrigin): Promise<void> {
    const { users, singleUse, signIn } = this.#deps;
    const seen = await singleUse.see('verify', token);
    const email = seen?.facts['email'];
    if (seen?.subject == null || typeof email !== 'string') throw linkUnusable();
    const user = await users.get(seen.subject);
    if (password !== undefined) await signIn.confirmPassword(user, password, origin);
    const isOwn = password !== undefined || (newPassword === undefined && account === user._id);
    if (!isOwn && !isAddressOf(user, email) && !isUnproven(user)) throw sessionRequired();
    if (newPassword !== undefined) checkPassword(newPassword, signInNames({ ...user, email }));
    if ((await singleUse.take('verify', token)) === null) throw linkUnusable();
    const stamp = stampOf(origin, actorText(user.kind, user._id));
    if (isOwn) {
      await users.change(user._id, { email, emailVerified: true }, stamp);
      if (!isAddressOf(user, email)) await singleUse.forget('reset', user._id);
      return;
    }
    await this.#takeOver(user, email, newPassword, stamp);
  }

  /** Proves the address for a person who may not have registered the account. */
  async #takeOver(user: User, email: string, password: string | undefined, stamp: Stamp): Promise<void> {
    const { users, passwords, recovery } = this.#deps;
    const { _id: id } = user;
    // The address first, because it may be taken. It counts as proven only after everything else has ended.
    const reached = isAddressOf(user, email) ? user : await users.change(id, { email, emailVerified: false }, stamp);
    const proved = await users.proveAddress(reached, stamp);
    if (password === undefined) return;
    const mark = await passwords.mark(id);
    if (!proved.emailVerified || !(await recovery.setByMail(proved, password, stamp, mark))) throw linkUnusable();
  }
}

function sessionRequired(): MillraceError {
  return new MillraceError(
    'not-authenticated',
    'The account has a confirmed address, which this link alone cannot replace',
    {
      hint: 'Send the password of the account as `password`, or the access token of one of its sessions',
      headers: { 'www-authenticate': 'Bearer realm="millrace"' },
    },
  );
}
