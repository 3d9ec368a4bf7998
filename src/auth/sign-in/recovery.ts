/**
 * What the holder of an address can do by an e-mail: ask for the link that proves it, and set a new password. The responses do
 * not tell whether an address has an account. Proving itself: address-proof.ts; HTTP: sign-in-routes.ts.
 */
import type { Activity } from '../../database/activity.ts';
import { actorText, type Stamp } from '../../database/system-collection.ts';
import { checkPassword, type Passwords } from '../accounts/passwords.ts';
import type { Users } from '../accounts/users.ts';
import { linkUnusable } from '../identity/refusals.ts';
import { foldName, isAddressOf, type User } from '../identity/user.ts';
import type { LanguageName } from '../letters/languages/languages.ts';
import type { Composed, Outbox } from '../letters/outbox.ts';
import type { LetterRow } from '../letters/outbox-store.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { SingleUse } from './single-use.ts';

/** One letter of a kind to one address within this time, in milliseconds. */
const LETTER_MS = 60_000;

export interface RecoveryParts {
  readonly users: Users;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly singleUse: SingleUse;
  readonly activity: Activity;
  readonly outbox: Outbox;
  /** Where people reach this server. */
  readonly base: string;
}

export class Recovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
    for (const kind of ['verify-address', 'change-address'] as const) {
      parts.outbox.compose(kind, (row) => this.#verifyLetter(row));
    }
    parts.outbox.compose('reset-password', (row) => this.#resetLetter(row));
  }

  /**
   * Sends a letter that proves an address; the account gets the address when the link in the letter is used.
   * @param language that the client prefers
   * @throws MillraceError `overloaded`
   */
  async sendVerification(user: User, email: string, language: LanguageName | null): Promise<void> {
    const kind = isAddressOf(user, email) ? 'verify-address' : 'change-address';
    await this.#parts.outbox.add({ kind, to: email, facts: { user: user._id, email }, language });
  }

  /**
   * Sends a letter to the account of an address, if there is one; the answer does not show whether there is.
   * @throws MillraceError `overloaded`
   */
  async requestReset(email: string, language: LanguageName | null): Promise<void> {
    await this.#parts.outbox.add({ kind: 'reset-password', to: email, facts: { email }, language });
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
    // Factors that were enrolled before the address was proven end with the rest. Later ones stay: a mailbox alone must not
    // remove them.
    await this.#parts.users.proveAddress(user, stamp);
    const mark = await this.#parts.passwords.mark(user._id);
    const isStill = isAddressOf(await this.#parts.users.get(user._id), email);
    if (!isStill || !(await this.setByMail(user, password, stamp, mark))) throw linkUnusable();
  }

  /**
   * Sets the password of an account whose address was just proven.
   * @param mark of the password that it replaces
   * @returns false when that was replaced meanwhile
   * @throws MillraceError `password-refused`
   */
  async setByMail(user: User, password: string, stamp: Stamp, mark: string | null): Promise<boolean> {
    const { users, activity } = this.#parts;
    if (!(await users.setPassword(user, password, 'password-reset', stamp, { mark }))) return false;
    await this.forgetLetters(user._id);
    await activity.record('system.auth.password-changed', { user: user._id, how: 'by-mail' }, stamp);
    return true;
  }

  /** After a new password, links and letters that an attacker may have asked for with the old one stop working. */
  async forgetLetters(user: string): Promise<void> {
    await Promise.all([this.#parts.singleUse.forget('verify', user), this.#parts.singleUse.forget('reset', user)]);
  }

  async #verifyLetter({ facts, tries }: LetterRow): Promise<Composed | null> {
    const { users, singleUse, base } = this.#parts;
    const [id, email] = [facts?.['user'], facts?.['email']];
    if (id == null || email == null) return null;
    const user = await users.find(id);
    if (user === null || user.disabled) return null;
    if (tries === 1 && !(await singleUse.isFirst(`verify ${id} ${foldName(email)}`, LETTER_MS))) return null;
    const token = await singleUse.make('verify', id, { facts: { email }, alone: true });
    return { user, to: email, values: { link: `${base}/verify#${token}` } };
  }

  async #resetLetter({ facts, tries }: LetterRow): Promise<Composed | null> {
    const { users, singleUse, base } = this.#parts;
    const email = facts?.['email'] ?? '';
    const user = await users.byName(foldName(email));
    if (user?.email == null || user.disabled || !isAddressOf(user, email)) return null;
    if (tries === 1 && !(await singleUse.isFirst(`reset ${foldName(email)}`, LETTER_MS))) return null;
    // Older links stay valid until one is used: anybody can ask for a letter, and that must not break the link in a
    // letter which the user already has.
    const token = await singleUse.make('reset', user._id, { facts: { email: user.email } });
    return { user, to: user.email, values: { link: `${base}/reset#${token}` } };
  }
}
