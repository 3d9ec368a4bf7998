/**
 * Sends e-mails that wait in the database, so that an e-mail survives the process that queued it, and an unreachable
 * mail server. One process leases each for a time, as webhook deliveries (decisions/0125); after a temporary rejection,
 * attempts follow at growing intervals, as in mail servers (RFC 5321 section 4.5.4.1).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { emailQueueFull } from '../auth/identity/auth-errors.ts';
import { normalizeSignInName, type User } from '../auth/identity/user.ts';
import { retryPause, Worker } from '../queue/worker.ts';
import { commonTemplateValues, type EmailTemplates } from './email-templates.ts';
import { EMAIL_DEFINITIONS, type EmailKind, type EmailState } from './locales/email-types.ts';
import { type LanguageCode, toSupportedLanguage } from './locales/locales.ts';
import { EmailNotSent, type Mailer } from './mailer.ts';
import { EMAIL_RETENTION_MS, type EmailRow, type OutboxStore } from './outbox-store.ts';

/** All e-mails are one group of the queue. */
const GROUP = 'emails';
/** Maximum queued e-mails; more are rejected. */
const MAX_WAITING = 5_000;
/** Duration of a lease: longer than any mail server may take to respond. */
const LEASE_MS = 120_000;
/** Concurrent e-mails of one process. */
const AT_ONCE = 2;
/** Pauses after failed attempts, in milliseconds. After the last one the letter has failed. */
const PAUSES_MS = [10_000, 60_000, 300_000, 900_000, 3_600_000, 4 * 3_600_000] as const;
/** Interval of the search for e-mails that another process has queued and not sent. */
const LOOK_MS = 10_000;
/**
 * Maximum random delay before the work for an e-mail. Otherwise the response to the next request would be a little later if the
 * previous e-mail had a user.
 */
const LATER_MS = 100;

export type { EmailRow } from './outbox-store.ts';

/** The content of an e-mail, and its recipient. */
export interface UnrenderedEmail {
  readonly user: User;
  readonly to: string;
  /** Values of the variables, besides those that all e-mails have. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Makes what a letter says; called for each try (`attempts` of the row counts them).
 * @returns null when the letter is not to be sent any more
 */
export type EmailComposer = (row: EmailRow, language: (user: User) => LanguageCode) => Promise<UnrenderedEmail | null>;

/** An e-mail to send. */
export interface EmailRequest {
  readonly kind: EmailKind;
  readonly to: string;
  readonly facts: Readonly<Record<string, string | null>>;
  readonly language?: LanguageCode | null;
  /** The same for what must not be sent twice; by default a new one. */
  readonly id?: string;
}

export interface EmailView {
  readonly id: string;
  readonly kind: EmailKind;
  readonly to: string;
  readonly state: EmailState;
  readonly attempts: number;
  readonly error: string | null;
  readonly createdAt: string;
  /** Time of the next attempt; null when there is none. */
  readonly nextAttemptAt: string | null;
  readonly finishedAt: string | null;
}

export interface OutboxDeps {
  readonly store: OutboxStore;
  readonly mail: Mailer;
  readonly templates: Pick<EmailTemplates, 'render'>;
  /** The default language of e-mails. */
  readonly language: LanguageCode;
  /** The public URL of this server. */
  readonly base: string;
  /** Called with errors that no response can report. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #composers = new Map<EmailKind, EmailComposer>();
  /** Leased e-mails that a worker is about to send. */
  readonly #leased: EmailRow[] = [];
  readonly #worker: Worker<EmailRow>;

  constructor(deps: OutboxDeps) {
    const { store, now, onError } = deps;
    this.#deps = deps;
    this.#worker = new Worker({
      now,
      findGroups: async (signal) => {
        await pause(LATER_MS * Math.random(), undefined, { signal });
        return { due: [GROUP], next: await store.nextDue(new Date(now())) };
      },
      room: () => AT_ONCE - this.#worker.running - this.#leased.length,
      findJobs: ([{ count } = { count: 0 }]) => this.#lease(count),
      next: () => this.#leased.shift(),
      handle: (row) => this.#send(row),
      release: async () => {
        for (const row of this.#leased.splice(0)) await store.release(row, new Date(now()));
      },
      maxLookMs: LOOK_MS,
      onError,
    });
  }

  /** Registers the composer of a type of e-mail. */
  registerComposer(kind: EmailKind, composer: EmailComposer): void {
    this.#composers.set(kind, composer);
  }

  /** Starts to send. All composers must be registered. */
  start(): void {
    this.#worker.start();
  }

  /**
   * Stores an e-mail; when this resolves, it will be sent even if this process ends.
   * @throws MillraceError `overloaded`
   */
  async add({ kind, to, facts, language = null, id = randomUUID() }: EmailRequest): Promise<void> {
    const { store, now } = this.#deps;
    if (await store.areWaiting(MAX_WAITING)) throw emailQueueFull();
    const at = now();
    const row = {
      _id: id,
      kind,
      to: normalizeSignInName(to),
      facts,
      language,
      state: 'pending',
      attempts: 0,
      error: null,
      createdAt: new Date(at),
      dueAt: new Date(at),
      until: new Date(at + EMAIL_DEFINITIONS[kind].sendWithinMs),
      finishedAt: null,
      token: null,
      expireAt: new Date(at + EMAIL_RETENTION_MS),
    } as const;
    // An existing one with this id stays as it is.
    await store.insert([row]);
    this.#worker.wake();
  }

  /**
   * How many e-mails of a type an address got, or will get, in the last milliseconds.
   * @param but the e-mail that is being composed, which does not count, nor do later ones
   */
  countLast(ms: number, to: string, kind: EmailKind, but?: string): Promise<number> {
    return this.#deps.store.countSince(normalizeSignInName(to), kind, new Date(this.#deps.now() - ms), but);
  }

  /** The newest e-mails first. They contain no link and no code. */
  async list(state: EmailState | null, limit: number): Promise<EmailView[]> {
    const rows = await this.#deps.store.list(state, limit);
    return rows.map(({ _id, kind, to, state, attempts, error, createdAt, dueAt, finishedAt }) => ({
      id: _id,
      kind,
      to,
      state,
      attempts,
      error,
      createdAt: createdAt.toISOString(),
      nextAttemptAt: dueAt?.toISOString() ?? null,
      finishedAt: finishedAt?.toISOString() ?? null,
    }));
  }

  /** Waits until every due e-mail was sent, or postponed. */
  settled(): Promise<void> {
    return this.#worker.idle();
  }

  /** Stops after the e-mails in progress. Queued ones are sent by another process, or after the next start. */
  async close(): Promise<void> {
    await this.#worker.stop(LEASE_MS);
    this.#deps.mail.close();
  }

  async #lease(count: number): Promise<ReadonlyMap<string, number>> {
    const { store, now } = this.#deps;
    for (let found = 0; found < count; found += 1) {
      const row = await store.lease(randomUUID(), new Date(now()), new Date(now() + LEASE_MS));
      if (row === null) return new Map([[GROUP, found]]);
      this.#leased.push(row);
    }
    return new Map([[GROUP, count]]);
  }

  async #send(row: EmailRow): Promise<void> {
    const { store, now, onError } = this.#deps;
    try {
      if (now() >= row.until.getTime()) return await this.#fail(row, row.error ?? 'It could not be sent in time');
      const composed = await this.#composers.get(row.kind)?.(row, (user) => this.#languageFor(user, row));
      if (composed == null) return await store.drop(row);
      await this.#deliver(row, composed);
      await store.end(row, 'succeeded', null, new Date(now()));
    } catch (error) {
      const reason = error instanceof EmailNotSent ? error.message : 'The e-mail could not be created';
      if (!(error instanceof EmailNotSent)) onError(error);
      const next = retryPause(PAUSES_MS, row.attempts);
      const isFinal = error instanceof EmailNotSent && error.isFinal;
      if (isFinal || next === null || now() + next >= row.until.getTime()) return await this.#fail(row, reason);
      await store.reschedule(row, reason, new Date(now() + next));
      this.#worker.wakeAt(now() + next);
    }
  }

  async #deliver(row: EmailRow, { user, to, values }: UnrenderedEmail): Promise<void> {
    const { mail, templates, base } = this.#deps;
    const known = { ...commonTemplateValues(user, base), ...values };
    const email = templates.render(row.kind, this.#languageFor(user, row), known);
    await mail.send({ to, ...email });
  }

  async #fail(row: EmailRow, reason: string): Promise<void> {
    const { store, now, onError } = this.#deps;
    await store.end(row, 'failed', reason, new Date(now()));
    onError(new Error(`An e-mail was not sent (${row.kind}, ${row._id}): ${reason}`));
  }

  /** The language of the user, else of the requester, else of the instance. */
  #languageFor({ profile }: User, { language }: Pick<EmailRow, 'language'>): LanguageCode {
    return toSupportedLanguage(profile['locale']) ?? language ?? this.#deps.language;
  }
}
