/**
 * Signing in: registering, and signing in with a password. Also the check of the present password before a signed-in user
 * changes an address or a password. Every failure gets the same answer, after the same time. Not here: what letters do
 * (recovery.ts), and HTTP (sign-in-routes.ts).
 */
import type { Activity } from '../../database/activity.ts';
import { actorText } from '../../database/system-collection.ts';
import { checkPassword, type Passwords } from '../accounts/passwords.ts';
import type { NewUser, Users } from '../accounts/users.ts';
import { invalidCredential, noPassword, registrationClosed, signInFailed } from '../identity/refusals.ts';
import { foldName, type ShownUser, toShown, type User } from '../identity/user.ts';
import type { LanguageName } from '../letters/languages/languages.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions, Tokens } from '../tokens/sessions.ts';
import type { Recovery } from './recovery.ts';
import type { SecondStep } from './second-step.ts';
import { type SignInAttempt, type SignInDelays, underAccount, underName } from './sign-in-delays.ts';

export interface SignedIn extends Tokens {
  readonly user: ShownUser;
}

/** How an account was verified, other than by a password. */
export interface Opening {
  /** The identity that a provider proved. */
  readonly identity?: string;
  /**
   * Asked of the account once more when the session is open: what ends the sessions of an account, such as disabling it,
   * may have happened just before. It ends here when the answer is no.
   */
  readonly holds?: (user: User) => boolean | Promise<boolean>;
}

export interface SignInParts {
  readonly users: Users;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly delays: SignInDelays;
  readonly secondStep: SecondStep;
  readonly activity: Activity;
  readonly recovery: Pick<Recovery, 'sendVerification' | 'forgetLetters'>;
  readonly registration: 'open' | 'closed';
}

export class SignIn {
  readonly #parts: SignInParts;

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  get registration(): 'open' | 'closed' {
    return this.#parts.registration;
  }

  /** @throws MillraceError `registration-closed`, `unique-violation`, `password-refused` */
  async register(wanted: NewUser, origin: SessionOrigin, language: LanguageName | null = null): Promise<SignedIn> {
    if (this.#parts.registration === 'closed') throw registrationClosed();
    const user = await this.#parts.users.create({ ...wanted, kind: 'user' }, { request: origin.request });
    const { passwords, recovery } = this.#parts;
    const mark = await passwords.mark(user._id);
    if (user.email !== null) await recovery.sendVerification(user, user.email, language);
    return this.welcome(user, origin, { holds: async ({ _id }) => (await passwords.mark(_id)) === mark });
  }

  /**
   * @param username user name or e-mail address
   * @param code of the second factor, if the client has one already
   * @throws MillraceError `sign-in-failed` for every cause, `mfa-required`, `rate-limited`, `overloaded`
   */
  async login(username: string, password: string, code: string | undefined, origin: SessionOrigin): Promise<SignedIn> {
    const name = foldName(username);
    const { users, passwords, sessions, secondStep } = this.#parts;
    const user = await users.byName(name);
    const mark = await passwords.mark(user?._id ?? null);
    const attempt = { under: underName(name), account: user?._id ?? null, address: origin.address };
    if (!(await this.#isRight(user, password, attempt, origin)) || user === null) throw signInFailed();
    if (await secondStep.stands(user._id)) {
      if (code === undefined) throw await secondStep.question(user, {});
      await secondStep.prove(user, code, origin);
    }
    const { session, tokens } = await sessions.open(user, origin);
    // Disabling an account and a new password end the sessions that exist. A session opened just afterwards ends here.
    if ((await passwords.mark(user._id)) !== mark || (await users.get(user._id)).disabled) {
      await sessions.end(session, user._id, 'password-changed', stampOf(origin));
      throw signInFailed();
    }
    return { ...tokens, user: toShown(user) };
  }

  /**
   * New tokens for a refresh token, with the user as now stored.
   * @param onRenewed as in `Sessions.refresh`
   * @throws MillraceError `invalid-credential`
   */
  async refresh(text: string, origin: SessionOrigin, onRenewed: (identity: string) => void): Promise<SignedIn> {
    const { user, tokens } = await this.#parts.sessions.refresh(text, origin, onRenewed);
    const found = await this.#parts.users.find(user);
    // Deleted at this very moment: its sessions end, too.
    if (found === null) throw invalidCredential();
    return { ...tokens, user: toShown(found) };
  }

  /**
   * Opens a session for an account that is already verified.
   * @throws MillraceError `sign-in-failed` when `holds` says no
   */
  async welcome(user: User, origin: SessionOrigin, { holds, identity }: Opening = {}): Promise<SignedIn> {
    const { sessions, users } = this.#parts;
    const { session, tokens } = await sessions.open(user, origin, identity);
    if (holds !== undefined && !(await holds(await users.get(user._id)))) {
      await sessions.end(session, user._id, 'revoked', stampOf(origin));
      throw signInFailed();
    }
    return { ...tokens, user: toShown(user) };
  }

  /**
   * Checks that the client of a session also knows the password.
   * @throws MillraceError `sign-in-failed`, `rate-limited`
   */
  async confirmPassword(user: User, password: string, origin: SessionOrigin): Promise<void> {
    if ((await this.#parts.passwords.mark(user._id)) === null) throw noPassword();
    const attempt = { under: underAccount(user._id), account: user._id, address: origin.address };
    if (!(await this.#isRight(user, password, attempt, origin))) throw signInFailed();
  }

  /** @throws MillraceError `sign-in-failed`, `password-refused`, `rate-limited` */
  async changePassword(
    user: User,
    session: string,
    current: string,
    next: string,
    origin: SessionOrigin,
  ): Promise<void> {
    checkPassword(next, user.names);
    const mark = await this.#parts.passwords.mark(user._id);
    await this.confirmPassword(user, current, origin);
    const stamp = stampOf(origin, actorText(user.kind, user._id));
    const how = { but: session, mark };
    if (!(await this.#parts.users.setPassword(user, next, 'password-changed', stamp, how))) throw signInFailed();
    await this.#parts.recovery.forgetLetters(user._id);
    await this.#parts.activity.record('system.auth.password-changed', { user: user._id, how: 'known' }, stamp);
  }

  /**
   * Whether a password is the one of an account that may sign in.
   * @throws MillraceError `rate-limited` while the attempt has to wait, `overloaded`
   */
  async #isRight(user: User | null, password: string, attempt: SignInAttempt, origin: SessionOrigin): Promise<boolean> {
    const { passwords, delays, activity } = this.#parts;
    const account = user?._id ?? null;
    // The delay is checked and the failure counted within one turn: of many guesses at once, each finds the failures
    // before it.
    const right = await passwords.inTurn(async () => {
      await delays.pass(attempt);
      const right = (await passwords.verify(account, password)) && !user?.disabled;
      if (!right) await delays.failed(attempt);
      return right;
    });
    if (right) await delays.succeeded(attempt);
    // The typed name is not recorded: people sometimes type a password there.
    else {
      const details = { user: account, address: origin.address, provider: null, reason: null };
      await activity.record('system.auth.failed', details, stampOf(origin));
    }
    return right;
  }
}
