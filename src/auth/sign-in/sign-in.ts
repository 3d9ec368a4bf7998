/**
 * Signing in: registering, signing in with a password, confirming an address, and setting a new password by mail. Also the
 * check of the present password before a signed-in user changes an address or a password. Every failure gets the same
 * answer, after the same time. Not here: HTTP (sign-in-routes.ts).
 */
import type { Activity } from '../../database/activity.ts';
import { actorText } from '../../database/system-collection.ts';
import { checkPassword, type Passwords } from '../accounts/passwords.ts';
import type { NewUser, Users } from '../accounts/users.ts';
import { linkUnusable, noPassword, registrationClosed, signInFailed, tooManyLetters } from '../identity/refusals.ts';
import { foldName, type ShownUser, toShown, type User } from '../identity/user.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions, Tokens } from '../tokens/sessions.ts';
import { resetLetter, verifyLetter } from './letters.ts';
import type { Mail } from './mail.ts';
import type { SecondStep } from './second-step.ts';
import { type SignInAttempt, type SignInDelays, underAccount, underName } from './sign-in-delays.ts';
import type { SingleUse } from './single-use.ts';

/** Letters that are being sent at the same time. */
const MAX_LETTERS = 500;
/** One letter of a kind to one address within this time. */
const LETTER_MS = 60_000;

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
  readonly singleUse: SingleUse;
  readonly activity: Activity;
  readonly mail: Mail;
  /** Where people reach this server. */
  readonly base: string;
  readonly registration: 'open' | 'closed';
  /** Called with errors that no answer can report. */
  readonly onError: (error: unknown) => void;
}

export class SignIn {
  readonly #parts: SignInParts;
  readonly #letters = new Set<Promise<void>>();

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  get registration(): 'open' | 'closed' {
    return this.#parts.registration;
  }

  /** @throws MillraceError `registration-closed`, `unique-violation`, `password-refused` */
  async register(wanted: NewUser, origin: SessionOrigin): Promise<SignedIn> {
    if (this.#parts.registration === 'closed') throw registrationClosed();
    const user = await this.#parts.users.create({ ...wanted, kind: 'user' }, { request: origin.request });
    if (user.email !== null) this.sendVerification(user, user.email);
    return this.welcome(user, origin);
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
      if (code === undefined) throw await secondStep.question(user, null);
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
    await this.confirmPassword(user, current, origin);
    const stamp = stampOf(origin, actorText(user.kind, user._id));
    await this.#parts.users.setPassword(user, next, 'password-changed', stamp, session);
    await this.#forgetLetters(user);
    await this.#parts.activity.record('system.auth.password-changed', { user: user._id, how: 'known' }, stamp);
  }

  /**
   * Sends a letter that proves an address; the account gets the address when the link in the letter is used.
   * @throws MillraceError `overloaded`
   */
  sendVerification({ _id }: User, email: string): void {
    this.#inBackground(async () => {
      if (!(await this.#parts.singleUse.isFirst(`verify ${_id} ${foldName(email)}`, LETTER_MS))) return;
      const token = await this.#parts.singleUse.make('verify', _id, { facts: { email }, alone: true });
      await this.#parts.mail.send(verifyLetter(email, token, this.#parts.base));
    });
  }

  /** @throws MillraceError `link-unusable`, `unique-violation` */
  async verify(token: string, origin: SessionOrigin): Promise<void> {
    const taken = await this.#parts.singleUse.take('verify', token);
    const email = taken?.facts['email'];
    if (taken?.subject == null || typeof email !== 'string') throw linkUnusable();
    const user = await this.#parts.users.get(taken.subject);
    await this.#parts.users.change(
      user._id,
      { email, emailVerified: true },
      stampOf(origin, actorText(user.kind, user._id)),
    );
    if (!isAddressOf(user, email)) await this.#parts.singleUse.forget('reset', user._id);
  }

  /**
   * Sends a letter to the account of an address, if there is one; the answer does not show whether there is.
   * @throws MillraceError `overloaded`
   */
  requestReset(email: string): void {
    this.#inBackground(async () => {
      const user = await this.#parts.users.byName(foldName(email));
      if (user?.email == null || user.disabled || !isAddressOf(user, email)) return;
      if (!(await this.#parts.singleUse.isFirst(`reset ${foldName(email)}`, LETTER_MS))) return;
      const facts = { email: user.email };
      // Older links stay valid until one is used: anybody can ask for a letter, and that must not break the link in a
      // letter which the user already has.
      const token = await this.#parts.singleUse.make('reset', user._id, { facts });
      await this.#parts.mail.send(resetLetter(user.email, token, this.#parts.base));
    });
  }

  /** @throws MillraceError `link-unusable`, `password-refused` */
  async reset(token: string, password: string, origin: SessionOrigin): Promise<void> {
    const seen = await this.#parts.singleUse.see('reset', token);
    const email = seen?.facts['email'];
    if (seen?.subject == null || typeof email !== 'string') throw linkUnusable();
    const user = await this.#parts.users.get(seen.subject);
    // The account may have got another address after the letter was sent.
    if (!isAddressOf(user, email)) throw linkUnusable();
    // Before the token is used up: after a refused password the user may try another one.
    checkPassword(password, user.names);
    if ((await this.#parts.singleUse.take('reset', token)) === null) throw linkUnusable();
    const stamp = stampOf(origin, actorText(user.kind, user._id));
    await this.#parts.users.setPassword(user, password, 'password-reset', stamp);
    await this.#forgetLetters(user);
    if (!user.emailVerified) await this.#parts.users.change(user._id, { emailVerified: true }, stamp);
    await this.#parts.activity.record('system.auth.password-changed', { user: user._id, how: 'by-mail' }, stamp);
  }

  /** Waits until all letters are sent. */
  async settled(): Promise<void> {
    await Promise.all(this.#letters);
  }

  async close(): Promise<void> {
    await this.settled();
    this.#parts.mail.close();
  }

  /** After a new password, links and letters that an attacker may have asked for with the old one stop working. */
  async #forgetLetters({ _id }: User): Promise<void> {
    await Promise.all([this.#parts.singleUse.forget('verify', _id), this.#parts.singleUse.forget('reset', _id)]);
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

  #inBackground(task: () => Promise<void>): void {
    if (this.#letters.size >= MAX_LETTERS) throw tooManyLetters();
    const running = task()
      .catch(this.#parts.onError)
      .finally(() => this.#letters.delete(running));
    this.#letters.add(running);
  }
}

function isAddressOf(user: User, email: string): boolean {
  return user.email !== null && foldName(user.email) === foldName(email);
}
