/**
 * What the holder of an address can do by a letter: prove the address, and set a new password. The answers show nobody whether
 * an address has an account. Not here: signing in by a letter (by-letter/), sending (letters/outbox.ts), HTTP
 * (sign-in-routes.ts).
 */
import type { Activity } from '../../database/activity.ts';
import { actorText } from '../../database/system-collection.ts';
import { checkPassword } from '../accounts/passwords.ts';
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
    // Before the new password: whoever made the account in wait for this person keeps no way in. A second factor stays: a
    // mailbox alone must not remove it.
    if (user.secondFactor !== true) await this.#parts.users.proveAddress(user, stamp);
    else if (!user.emailVerified) await this.#parts.users.change(user._id, { emailVerified: true }, stamp);
    await this.#parts.users.setPassword(user, password, 'password-reset', stamp);
    await this.forgetLetters(user._id);
    await this.#parts.activity.record('system.auth.password-changed', { user: user._id, how: 'by-mail' }, stamp);
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
