/**
 * Notifies users by e-mail of a sign-in from a new network, a new password, and changes of sign-in methods and e-mail
 * address. It reads the event log, so any change is reported once, whatever caused it, and a crash loses none.
 */
import type { Timestamp } from 'mongodb';
import { normalizeSignInName, type User } from '../auth/identity/user.ts';
import { clientNetwork } from '../config/addresses.ts';
import { decodeDocument } from '../database/bson/stored-document.ts';
import { idText } from '../database/json/ids.ts';
import type { AuditEventType } from '../lib/event-types.ts';
import { describeSignInChange } from './email-templates.ts';
import type { KnownNetworks } from './known-networks.ts';
import { SIGN_IN_METHOD_CHANGES, type SignInMethodChange } from './locales/email-types.ts';
import type { LanguageCode } from './locales/locales.ts';
import type { Outbox, UnrenderedEmail } from './outbox.ts';
import type { EmailRow } from './outbox-store.ts';

const NOTICES = ['new-sign-in', 'password-changed', 'sign-in-method-changed', 'email-changed'] as const;
/** Maximum notifications of one type to one address in an hour; more are dropped. */
const HOURLY = 5;
const HOUR_MS = 3_600_000;
/** Maximum age of an event for a notification, which matters after a long downtime. */
const OLD_MS = 24 * HOUR_MS;

type Notice = (typeof NOTICES)[number];

/** The fields of a row of the event log that are read here. */
export interface SecurityLogRow {
  readonly epoch: number;
  readonly number: number;
  readonly time: Timestamp;
  readonly operation: string;
  readonly collection: string | null;
  readonly key: Buffer | null;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
}

/** Events about sign-in methods. */
type SignInMethodEventType = Extract<AuditEventType, `system.${'mfa' | 'identity'}.${string}`>;

/**
 * The names of these events in e-mails; `kind` is replaced by the kind of a factor. Null for an event that changes no
 * sign-in method.
 */
const WAYS: Readonly<Record<SignInMethodEventType, SignInMethodChange | `{kind}-${string}` | null>> = {
  'system.mfa.added': '{kind}-added',
  'system.mfa.removed': '{kind}-removed',
  'system.mfa.recovery-codes-regenerated': 'recovery-codes-regenerated',
  'system.mfa.recovery-code-used': null,
  'system.identity.linked': 'provider-linked',
  'system.identity.unlinked': 'provider-unlinked',
};

export interface SecurityNotificationsDeps {
  readonly outbox: Outbox;
  readonly networks: KnownNetworks;
  readonly findUser: (id: string) => Promise<User | null>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class SecurityNotifications {
  readonly #deps: SecurityNotificationsDeps;

  constructor(deps: SecurityNotificationsDeps) {
    this.#deps = deps;
    for (const kind of NOTICES) deps.outbox.registerComposer(kind, (row, languageFor) => this.#email(row, languageFor));
  }

  /** Processes rows of the log, in order; repeated rows do nothing. */
  async report(rows: readonly SecurityLogRow[]): Promise<void> {
    for (const row of rows) {
      const isOld = row.time.getHighBits() * 1_000 < this.#deps.now() - OLD_MS;
      if (isOld || row.after === null || !mayNeedNotification(row)) continue;
      if (row.collection === '_sessions') await this.#signIn(row, decodeDocument(row.after));
      else if (row.collection === '_activity') await this.#securityEvent(row, decodeDocument(row.after));
      else await this.#user(row, decodeDocument(row.after));
    }
  }

  async #signIn(row: SecurityLogRow, { user, ip, userAgent }: Readonly<Record<string, unknown>>): Promise<void> {
    if (typeof user !== 'string' || typeof ip !== 'string') return;
    const { networks, now } = this.#deps;
    const network = clientNetwork(ip);
    const at = new Date(now());
    if ((await networks.knows(user, network, at)) === false) {
      const device = typeof userAgent === 'string' ? userAgent : '–';
      await this.#add(row, 'new-sign-in', user, { ip, device });
    }
    await networks.note(user, network, at);
  }

  async #securityEvent(row: SecurityLogRow, { type, details }: Readonly<Record<string, unknown>>): Promise<void> {
    const { user, kind } = (details ?? {}) as { readonly user?: unknown; readonly kind?: unknown };
    if (typeof user !== 'string') return;
    if (type === 'system.auth.password-changed') return this.#add(row, 'password-changed', user, {});
    const change = Object.entries(WAYS).find(([occurrence]) => occurrence === type)?.[1];
    if (change == null) return;
    await this.#add(row, 'sign-in-method-changed', user, { change: change.replace('{kind}', String(kind)) });
  }

  /** A user whose e-mail address was replaced; the old one is notified. */
  async #user(row: SecurityLogRow, after: Readonly<Record<string, unknown>>): Promise<void> {
    if (row.before === null || row.key === null) return;
    const { email, emailVerified, kind } = decodeDocument(row.before);
    const next = after['email'];
    if (
      typeof email !== 'string' ||
      typeof next !== 'string' ||
      normalizeSignInName(email) === normalizeSignInName(next)
    )
      return;
    if (emailVerified !== true && kind !== 'admin') return;
    await this.#add(row, 'email-changed', idText(decodeDocument(row.key)['_id']), { newEmail: next }, email);
  }

  /** @param to the e-mail address; by default that of the user, if it is verified */
  async #add(
    { epoch, number, time }: SecurityLogRow,
    kind: Notice,
    id: string,
    facts: Readonly<Record<string, string>>,
    to?: string,
  ): Promise<void> {
    const { outbox, findUser } = this.#deps;
    const user = await findUser(id);
    if (user === null) return;
    // A user may have entered the address of another person, who must not get e-mails about it.
    const own = user.emailVerified || user.kind === 'admin' ? user.email : null;
    const email = to ?? own;
    if (email === null || (await outbox.countLast(HOUR_MS, email, kind)) >= HOURLY) return;
    const at = new Date(time.getHighBits() * 1_000).toISOString();
    const reported = { user: id, email, time: `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`, ...facts };
    await outbox.add({ kind, to: email, facts: reported, id: `notice ${epoch}-${number}` });
  }

  async #email({ facts }: EmailRow, languageFor: (user: User) => LanguageCode): Promise<UnrenderedEmail | null> {
    const { user: id = null, email = null, change, ...rest } = facts ?? {};
    const user = id === null ? null : await this.#deps.findUser(id);
    if (user === null || email === null) return null;
    const values = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, value ?? '']));
    if (!isWayChange(change)) return { user, to: email, values };
    return { user, to: email, values: { ...values, change: describeSignInChange(change, languageFor(user)) } };
  }
}

/** Whether a row may require a notification; pure and cheap. */
export function mayNeedNotification({
  collection,
  operation,
}: Pick<SecurityLogRow, 'collection' | 'operation'>): boolean {
  if (collection === '_users') return operation === 'update' || operation === 'replace';
  return operation === 'insert' && (collection === '_sessions' || collection === '_activity');
}

function isWayChange(text: unknown): text is SignInMethodChange {
  return SIGN_IN_METHOD_CHANGES.some((one) => one === text);
}
