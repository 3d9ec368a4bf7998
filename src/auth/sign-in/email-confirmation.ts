/**
 * Verifies an e-mail address with the link that was sent to it. The link alone proves who reads the e-mails of the
 * address, not who registered the user, so what was registered stays only for a request that proves to be from the same
 * person.
 */
import { actorText, type ChangeStamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import { linkExpired } from '../identity/auth-errors.ts';
import { isUnverifiedSignUp, signInNames, type User, userHasEmail } from '../identity/user.ts';
import { checkPasswordStrength, type Passwords } from '../passwords/passwords.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Users } from '../users/users.ts';
import type { Recovery } from './account-recovery.ts';
import type { SignIn } from './sign-in.ts';

export interface EmailConfirmationDeps {
  readonly users: Users;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly signIn: Pick<SignIn, 'confirmPassword'>;
  readonly recovery: Pick<Recovery, 'setPasswordByEmail'>;
}

/** What a request presents besides the secret of the link. */
export interface ConfirmEmailInput {
  /** The user whose session the request has; null without a session. */
  readonly user: string | null;
  /** The current password of the user. */
  readonly password?: string | undefined;
  /** A password that replaces what was registered. */
  readonly newPassword?: string | undefined;
}

export class EmailConfirmation {
  readonly #deps: EmailConfirmationDeps;

  constructor(deps: EmailConfirmationDeps) {
    this.#deps = deps;
  }

  /**
   * Confirms an address. With a session of the account, or with its password, everything stays as it is. Otherwise everything
   * that was registered before ends, if the account registered itself and has no proven address; an account that has one keeps
   * it. The link stays usable after an error that the client can correct.
   * @throws MillraceError `link-expired`, `unique-violation`, `not-authenticated`, `invalid-credentials`, `weak-password`,
   *   `rate-limited`, `user-not-found`
   */
  async confirm(
    token: string,
    { user: account, password, newPassword }: ConfirmEmailInput,
    origin: SessionOrigin,
  ): Promise<void> {
    const { users, oneTimeTokens, signIn } = this.#deps;
    const seen = await oneTimeTokens.peek('verify', token);
    const email = seen?.facts['email'];
    if (seen?.subject == null || typeof email !== 'string') throw linkExpired();
    const user = await users.get(seen.subject);
    if (password !== undefined) await signIn.confirmPassword(user, password, origin);
    const isOwn = password !== undefined || (newPassword === undefined && account === user._id);
    if (!isOwn && !userHasEmail(user, email) && !isUnverifiedSignUp(user)) throw sessionRequired();
    if (newPassword !== undefined) checkPasswordStrength(newPassword, signInNames({ ...user, email }));
    if ((await oneTimeTokens.take('verify', token)) === null) throw linkExpired();
    const stamp = changeStampFromOrigin(origin, actorText(user.kind, user._id));
    if (isOwn) {
      await users.change(user._id, { email, emailVerified: true }, stamp);
      if (!userHasEmail(user, email)) await oneTimeTokens.forget('reset', user._id);
      return;
    }
    await this.#takeOver(user, email, newPassword, stamp);
  }

  /** Verifies the address for a person who may not have registered the user. */
  async #takeOver(user: User, email: string, password: string | undefined, stamp: ChangeStamp): Promise<void> {
    const { users, passwords, recovery } = this.#deps;
    const { _id: id } = user;
    // The address first, because it may be taken. It counts as verified only after everything else has ended.
    const reached = userHasEmail(user, email) ? user : await users.change(id, { email, emailVerified: false }, stamp);
    const verified = await users.markEmailVerified(reached, stamp);
    if (password === undefined) return;
    const mark = await passwords.mark(id);
    if (!verified.emailVerified || !(await recovery.setPasswordByEmail(verified, password, stamp, mark)))
      throw linkExpired();
  }
}

function sessionRequired(): MillraceError {
  return new MillraceError(
    'not-authenticated',
    'The user has a verified e-mail address, which this link alone cannot replace',
    {
      hint: 'Send the password of the user as `password`, or the access token of one of its sessions',
      headers: { 'www-authenticate': 'Bearer realm="millrace"' },
    },
  );
}
