/**
 * Tells the holders of accounts what happened to them: a sign-in from a new network, another password, another way to sign in,
 * another address. It reads the event log, so whatever made the change, it is told once, and no crash loses it. Not here:
 * reading the log with a durable cursor (events/read/consumer), and sending (outbox.ts).
 */
import type { Timestamp } from 'mongodb';
import { readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import { networkOf } from '../../kernel/config/addresses.ts';
import type { Occurrence } from '../../kernel/event-types.ts';
import { foldName, type User } from '../identity/user.ts';
import type { KnownNetworks } from './known-networks.ts';
import type { LanguageName } from './languages/languages.ts';
import { WAY_CHANGES, type WayChange } from './languages/letter-kinds.ts';
import { changeWords } from './letter-templates.ts';
import type { Composed, Outbox } from './outbox.ts';
import type { LetterRow } from './outbox-store.ts';

const NOTICES = ['new-sign-in', 'password-changed', 'way-in-changed', 'address-changed'] as const;
/** Notices of one kind to one address in an hour; what is more is not told. */
const HOURLY = 5;
const HOUR_MS = 3_600_000;
/** What happened longer ago is not told any more, as after a long standstill. */
const OLD_MS = 24 * HOUR_MS;

type Notice = (typeof NOTICES)[number];

/** The members of a row of the event log that are read here. */
export interface NoticedRow {
  readonly epoch: number;
  readonly number: number;
  readonly time: Timestamp;
  readonly operation: string;
  readonly collection: string | null;
  readonly key: Buffer | null;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
}

/** Occurrences that change a way in, as letters name them; `kind` stands for the kind of a factor. */
const WAYS: Readonly<Partial<Record<Occurrence, string>>> = {
  'system.factor.added': '{kind}-added',
  'system.factor.removed': '{kind}-removed',
  'system.factor.codes-renewed': 'codes-renewed',
  'system.identity.joined': 'provider-joined',
  'system.identity.removed': 'provider-removed',
};

export interface NoticesParts {
  readonly outbox: Outbox;
  readonly networks: KnownNetworks;
  readonly findUser: (id: string) => Promise<User | null>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class Notices {
  readonly #parts: NoticesParts;

  constructor(parts: NoticesParts) {
    this.#parts = parts;
    for (const kind of NOTICES) parts.outbox.compose(kind, (row, languageFor) => this.#letter(row, languageFor));
  }

  /** Takes rows of the log, in order; the same ones again do nothing. */
  async tell(rows: readonly NoticedRow[]): Promise<void> {
    for (const row of rows) {
      const isOld = row.time.getHighBits() * 1_000 < this.#parts.now() - OLD_MS;
      if (isOld || row.after === null || !concerns(row)) continue;
      if (row.collection === '_sessions') await this.#signIn(row, readStored(row.after));
      else if (row.collection === '_activity') await this.#occurrence(row, readStored(row.after));
      else await this.#account(row, readStored(row.after));
    }
  }

  async #signIn(row: NoticedRow, { user, address, agent }: Readonly<Record<string, unknown>>): Promise<void> {
    if (typeof user !== 'string' || typeof address !== 'string') return;
    const { networks, now } = this.#parts;
    const network = networkOf(address);
    const at = new Date(now());
    if ((await networks.knows(user, network, at)) === false) {
      const device = typeof agent === 'string' ? agent : '–';
      await this.#add(row, 'new-sign-in', user, { network: address, device });
    }
    await networks.note(user, network, at);
  }

  async #occurrence(row: NoticedRow, { type, details }: Readonly<Record<string, unknown>>): Promise<void> {
    const { user, kind } = (details ?? {}) as { readonly user?: unknown; readonly kind?: unknown };
    if (typeof user !== 'string') return;
    if (type === 'system.auth.password-changed') return this.#add(row, 'password-changed', user, {});
    const change = Object.entries(WAYS).find(([occurrence]) => occurrence === type)?.[1];
    if (change === undefined) return;
    await this.#add(row, 'way-in-changed', user, { change: change.replace('{kind}', String(kind)) });
  }

  /** An account that had an address has another one now; the old one is told. */
  async #account(row: NoticedRow, after: Readonly<Record<string, unknown>>): Promise<void> {
    if (row.before === null || row.key === null) return;
    const { email, emailVerified, kind } = readStored(row.before);
    const next = after['email'];
    if (typeof email !== 'string' || typeof next !== 'string' || foldName(email) === foldName(next)) return;
    if (emailVerified !== true && kind !== 'owner') return;
    await this.#add(row, 'address-changed', idText(readStored(row.key)['_id']), { address: next }, email);
  }

  /** @param to the address; without it the one of the account, if it is known to belong to its holder */
  async #add(
    { epoch, number, time }: NoticedRow,
    kind: Notice,
    id: string,
    facts: Readonly<Record<string, string>>,
    to?: string,
  ): Promise<void> {
    const { outbox, findUser } = this.#parts;
    const user = await findUser(id);
    if (user === null) return;
    // Somebody may have named an address of another person, who would get letters about an account that is not theirs.
    const own = user.emailVerified || user.kind === 'owner' ? user.email : null;
    const email = to ?? own;
    if (email === null || (await outbox.countLast(HOUR_MS, email, kind)) >= HOURLY) return;
    const at = new Date(time.getHighBits() * 1_000).toISOString();
    const told = { user: id, email, time: `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`, ...facts };
    await outbox.add({ kind, to: email, facts: told, id: `notice ${epoch}-${number}` });
  }

  async #letter({ facts }: LetterRow, languageFor: (user: User) => LanguageName): Promise<Composed | null> {
    const { user: id = null, email = null, change, ...rest } = facts ?? {};
    const user = id === null ? null : await this.#parts.findUser(id);
    if (user === null || email === null) return null;
    const values = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, value ?? '']));
    if (!isWayChange(change)) return { user, to: email, values };
    return { user, to: email, values: { ...values, change: changeWords(change, languageFor(user)) } };
  }
}

/** Whether something of a row may have to be told; pure and cheap. */
export function concerns({ collection, operation }: Pick<NoticedRow, 'collection' | 'operation'>): boolean {
  if (collection === '_users') return operation === 'update' || operation === 'replace';
  return operation === 'insert' && (collection === '_sessions' || collection === '_activity');
}

function isWayChange(text: unknown): text is WayChange {
  return WAY_CHANGES.some((one) => one === text);
}
