/**
 * What the holder of an e-mail address can do by e-mail: request the link that verifies it, and set a new password. The
 * responses do not reveal whether an address has a user.
 */
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { actorText, type ChangeStamp } from '../../database/system-collection.ts';
import type { LanguageCode } from '../../email/locales/locales.ts';
import type { EmailRow, Outbox, UnrenderedEmail } from '../../email/outbox.ts';
import { linkExpired } from '../identity/auth-errors.ts';
import { normalizeSignInName, type User, userHasEmail } from '../identity/user.ts';
import { checkPasswordStrength, type Passwords } from '../passwords/passwords.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Users } from '../users/users.ts';

/** Minimum interval between e-mails of one type to one address, in milliseconds. */
const EMAIL_MS = 60_000;

export interface RecoveryDeps {
  readonly users: Users;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly activity: AuditEvents;
  readonly outbox: Outbox;
  /** The public URL of this server. */
  readonly base: string;
}

export class Recovery {
  readonly #deps: RecoveryDeps;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
    for (const kind of ['verify-email', 'change-email'] as const) {
      deps.outbox.registerComposer(kind, (row) => this.#verifyEmail(row));
    }
    deps.outbox.registerComposer('reset-password', (row) => this.#resetEmail(row));
  }

  /**
   * Sends an e-mail that verifies an address; the user gets the address when the link is used.
   * @param language that the client prefers
   * @throws MillraceError `overloaded`
   */
  async sendVerification(user: User, email: string, language: LanguageCode | null): Promise<void> {
    const kind = userHasEmail(user, email) ? 'verify-email' : 'change-email';
    await this.#deps.outbox.add({ kind, to: email, facts: { user: user._id, email }, language });
  }

  /**
   * Sends an e-mail to the user of an address, if there is one; the response does not reveal whether there is.
   * @throws MillraceError `overloaded`
   */
  async requestReset(email: string, language: LanguageCode | null): Promise<void> {
    await this.#deps.outbox.add({ kind: 'reset-password', to: email, facts: { email }, language });
  }

  /** @throws MillraceError `link-expired`, `weak-password` */
  async reset(token: string, password: string, origin: SessionOrigin): Promise<void> {
    const seen = await this.#deps.oneTimeTokens.peek('reset', token);
    const email = seen?.facts['email'];
    if (seen?.subject == null || typeof email !== 'string') throw linkExpired();
    const user = await this.#deps.users.get(seen.subject);
    // The user may have got another address after the e-mail was sent.
    if (!userHasEmail(user, email)) throw linkExpired();
    // Before the token is used up: after a rejected password the user may try another one.
    checkPasswordStrength(password, user.names);
    if ((await this.#deps.oneTimeTokens.take('reset', token)) === null) throw linkExpired();
    const stamp = changeStampFromOrigin(origin, actorText(user.kind, user._id));
    // Factors that were enrolled before the address was verified end with the rest. Later ones stay: a mailbox alone
    // must not remove them.
    await this.#deps.users.markEmailVerified(user, stamp);
    const mark = await this.#deps.passwords.mark(user._id);
    const isStill = userHasEmail(await this.#deps.users.get(user._id), email);
    if (!isStill || !(await this.setPasswordByEmail(user, password, stamp, mark))) throw linkExpired();
  }

  /**
   * Sets the password of a user whose address was just verified.
   * @param mark of the password that it replaces
   * @returns false when that was replaced in the meantime
   * @throws MillraceError `weak-password`
   */
  async setPasswordByEmail(user: User, password: string, stamp: ChangeStamp, mark: string | null): Promise<boolean> {
    const { users, activity } = this.#deps;
    if (!(await users.setPassword(user, password, 'password-reset', stamp, { mark }))) return false;
    await this.forgetEmails(user._id);
    await activity.record('system.auth.password-changed', { user: user._id, method: 'email' }, stamp);
    return true;
  }

  /** After a new password, links and e-mails that an attacker may have requested with the old one stop working. */
  async forgetEmails(user: string): Promise<void> {
    await Promise.all([
      this.#deps.oneTimeTokens.forget('verify', user),
      this.#deps.oneTimeTokens.forget('reset', user),
    ]);
  }

  async #verifyEmail({ facts, attempts }: EmailRow): Promise<UnrenderedEmail | null> {
    const { users, oneTimeTokens, base } = this.#deps;
    const [id, email] = [facts?.['user'], facts?.['email']];
    if (id == null || email == null) return null;
    const user = await users.find(id);
    if (user === null || user.disabled) return null;
    if (attempts === 1 && !(await oneTimeTokens.isFirst(`verify ${id} ${normalizeSignInName(email)}`, EMAIL_MS)))
      return null;
    const token = await oneTimeTokens.make('verify', id, { facts: { email }, alone: true });
    return { user, to: email, values: { link: `${base}/verify#${token}` } };
  }

  async #resetEmail({ facts, attempts }: EmailRow): Promise<UnrenderedEmail | null> {
    const { users, oneTimeTokens, base } = this.#deps;
    const email = facts?.['email'] ?? '';
    const user = await users.byName(normalizeSignInName(email));
    if (user?.email == null || user.disabled || !userHasEmail(user, email)) return null;
    if (attempts === 1 && !(await oneTimeTokens.isFirst(`reset ${normalizeSignInName(email)}`, EMAIL_MS))) return null;
    // Older links stay valid until one is used: anyone can request an e-mail, and that must not break the link in an
    // e-mail that the user already has.
    const token = await oneTimeTokens.make('reset', user._id, { facts: { email: user.email } });
    return { user, to: user.email, values: { link: `${base}/reset#${token}` } };
  }
}
