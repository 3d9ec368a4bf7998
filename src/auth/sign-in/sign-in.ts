/**
 * Sign-up, and sign-in with a password. Also the check of the current password before a signed-in user changes an
 * e-mail address or a password. Every failure gets the same response, after the same time.
 */
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { actorText } from '../../database/system-collection.ts';
import type { LanguageCode } from '../../email/locales/locales.ts';
import { invalidCredentials, invalidToken, passwordNotSet, registrationClosed } from '../identity/auth-errors.ts';
import { normalizeSignInName, toUserView, type User, type UserView } from '../identity/user.ts';
import { checkPasswordStrength, type Passwords } from '../passwords/passwords.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { Sessions, SessionTokens } from '../sessions/sessions.ts';
import type { NewUser, Users } from '../users/users.ts';
import type { Recovery } from './account-recovery.ts';
import {
  type LoginThrottle,
  nameThrottleKey,
  passwordConfirmationThrottleKey,
  type SignInAttempt,
} from './login-throttle.ts';
import type { MfaGate } from './mfa-gate.ts';

export interface SignInResult extends SessionTokens {
  readonly user: UserView;
}

/** How a user was verified, other than by a password. */
export interface OpenSessionOptions {
  /** The identity that a provider verified. */
  readonly identity?: string;
  /**
   * Checked again for the user when the session is open: what ends the sessions of a user, such as disabling it, may
   * have happened just before. The session ends when the result is false.
   */
  readonly isStillValid?: (user: User) => boolean | Promise<boolean>;
}

export interface SignInDeps {
  readonly users: Users;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly delays: LoginThrottle;
  readonly mfaGate: MfaGate;
  readonly activity: AuditEvents;
  readonly recovery: Pick<Recovery, 'sendVerification' | 'forgetEmails'>;
  readonly registration: 'open' | 'closed';
}

export class SignIn {
  readonly #deps: SignInDeps;

  constructor(deps: SignInDeps) {
    this.#deps = deps;
  }

  get registration(): 'open' | 'closed' {
    return this.#deps.registration;
  }

  /** @throws MillraceError `registration-closed`, `unique-violation`, `weak-password` */
  async register(
    requested: NewUser,
    origin: SessionOrigin,
    language: LanguageCode | null = null,
  ): Promise<SignInResult> {
    if (this.#deps.registration === 'closed') throw registrationClosed();
    const user = await this.#deps.users.create({ ...requested, kind: 'user' }, { request: origin.request });
    const { passwords, recovery } = this.#deps;
    const mark = await passwords.mark(user._id);
    if (user.email !== null) await recovery.sendVerification(user, user.email, language);
    return this.openSession(user, origin, { isStillValid: async ({ _id }) => (await passwords.mark(_id)) === mark });
  }

  /**
   * @param username user name or e-mail address
   * @param code of the second factor, if the client has one already
   * @throws MillraceError `invalid-credentials` for every cause, `mfa-required`, `rate-limited`, `overloaded`
   */
  async login(
    username: string,
    password: string,
    code: string | undefined,
    origin: SessionOrigin,
  ): Promise<SignInResult> {
    const name = normalizeSignInName(username);
    const { users, passwords, sessions, mfaGate } = this.#deps;
    const user = await users.byName(name);
    const mark = await passwords.mark(user?._id ?? null);
    const attempt = { throttleKey: nameThrottleKey(name), user: user?._id ?? null, ip: origin.ip };
    if (!(await this.#isRight(user, password, attempt, origin)) || user === null) throw invalidCredentials();
    if (await mfaGate.hasFactor(user._id)) {
      if (code === undefined) throw await mfaGate.challenge(user, {});
      await mfaGate.verifyCode(user, code, origin);
    }
    const { session, tokens } = await sessions.open(user, origin);
    // Disabling a user and a new password end the existing sessions. A session opened just afterwards ends here.
    if ((await passwords.mark(user._id)) !== mark || (await users.get(user._id)).disabled) {
      await sessions.end(session, user._id, 'password-changed', changeStampFromOrigin(origin));
      throw invalidCredentials();
    }
    return { ...tokens, user: toUserView(user) };
  }

  /**
   * New tokens for a refresh token, with the user as now stored.
   * @param onRenewed as in `Sessions.refresh`
   * @throws MillraceError `invalid-token`
   */
  async refresh(text: string, origin: SessionOrigin, onRenewed: (identity: string) => void): Promise<SignInResult> {
    const { user, tokens } = await this.#deps.sessions.refresh(text, origin, onRenewed);
    const found = await this.#deps.users.find(user);
    // Deleted at this very moment: its sessions end, too.
    if (found === null) throw invalidToken();
    return { ...tokens, user: toUserView(found) };
  }

  /**
   * Opens a session for a user that is already verified.
   * @throws MillraceError `invalid-credentials` when `holds` returns false
   */
  async openSession(
    user: User,
    origin: SessionOrigin,
    { isStillValid, identity }: OpenSessionOptions = {},
  ): Promise<SignInResult> {
    const { sessions, users } = this.#deps;
    const { session, tokens } = await sessions.open(user, origin, identity);
    if (isStillValid !== undefined && !(await isStillValid(await users.get(user._id)))) {
      await sessions.end(session, user._id, 'revoked', changeStampFromOrigin(origin));
      throw invalidCredentials();
    }
    return { ...tokens, user: toUserView(user) };
  }

  /**
   * Checks that the client of a session also knows the password.
   * @throws MillraceError `invalid-credentials`, `rate-limited`
   */
  async confirmPassword(user: User, password: string, origin: SessionOrigin): Promise<void> {
    if ((await this.#deps.passwords.mark(user._id)) === null) throw passwordNotSet();
    const attempt = { throttleKey: passwordConfirmationThrottleKey(user._id), user: user._id, ip: origin.ip };
    if (!(await this.#isRight(user, password, attempt, origin))) throw invalidCredentials();
  }

  /** @throws MillraceError `invalid-credentials`, `weak-password`, `rate-limited` */
  async changePassword(
    user: User,
    session: string,
    current: string,
    next: string,
    origin: SessionOrigin,
  ): Promise<void> {
    checkPasswordStrength(next, user.names);
    const mark = await this.#deps.passwords.mark(user._id);
    await this.confirmPassword(user, current, origin);
    const stamp = changeStampFromOrigin(origin, actorText(user.kind, user._id));
    const how = { but: session, mark };
    if (!(await this.#deps.users.setPassword(user, next, 'password-changed', stamp, how))) throw invalidCredentials();
    await this.#deps.recovery.forgetEmails(user._id);
    await this.#deps.activity.record('system.auth.password-changed', { user: user._id, method: 'password' }, stamp);
  }

  /**
   * Verifies the password of an enabled user.
   * @throws MillraceError `rate-limited` while the attempt has to wait, `overloaded`
   */
  async #isRight(user: User | null, password: string, attempt: SignInAttempt, origin: SessionOrigin): Promise<boolean> {
    const { passwords, delays, activity } = this.#deps;
    const account = user?._id ?? null;
    // The delay check and the count of the failure are one critical section: of parallel guesses, each sees the
    // failures before it.
    const right = await passwords.withHashingSlot(async () => {
      await delays.checkAllowed(attempt);
      const right = (await passwords.verify(account, password)) && !user?.disabled;
      if (!right) await delays.failed(attempt);
      return right;
    });
    if (right) await delays.succeeded(attempt);
    // The typed name is not recorded: people sometimes type a password there.
    else {
      const details = { user: account, ip: origin.ip, provider: null, reason: null };
      await activity.record('system.auth.failed', details, changeStampFromOrigin(origin));
    }
    return right;
  }
}
