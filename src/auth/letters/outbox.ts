/**
 * Sends letters that wait in the database, so that a letter survives the process that was asked for it, and a mail server that
 * is away. Each is taken for a time by one process, as deliveries of webhooks are (decisions/0125); a refusal that may pass is
 * tried again later and later, as mail servers do it (RFC 5321 section 4.5.4.1). Not here: what a letter says (its composer
 * makes the values, letter-templates.ts the words), and how it is handed over (mail.ts).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { tooManyLetters } from '../identity/refusals.ts';
import { foldName, type User } from '../identity/user.ts';
import { type LanguageName, languageOf } from './languages/languages.ts';
import { LETTERS, type LetterKind, type LetterState } from './languages/letter-kinds.ts';
import { commonValues, type LetterTemplates } from './letter-templates.ts';
import { LetterNotSent, type Mail } from './mail.ts';
import type { LetterRow, OutboxStore } from './outbox-store.ts';

/** Letters that may wait; more are refused. */
const MAX_WAITING = 5_000;
/** For how long a letter is taken: longer than any mail server may take to answer. */
const LEASE_MS = 120_000;
/** Letters of one process on their way at once. */
const AT_ONCE = 2;
/** Pauses after failed tries, in milliseconds. After the last one the letter has failed. */
const PAUSES_MS = [10_000, 60_000, 300_000, 900_000, 3_600_000, 4 * 3_600_000] as const;
/** How often letters are looked for that a process has left behind. */
const LOOK_MS = 10_000;
/**
 * The work for a letter begins up to so long after it was asked for. Otherwise the answer to the next request would come a
 * little later when the letter before it had an account.
 */
const LATER_MS = 100;

/** What a letter says, and to whom. */
export interface Composed {
  readonly user: User;
  readonly to: string;
  /** Values of the variables, besides those that all letters have. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Makes what a letter says; called for each try (`tries` of the row counts them).
 * @returns null when the letter is not to be sent any more
 */
export type Composer = (row: LetterRow, language: (user: User) => LanguageName) => Promise<Composed | null>;

/** A letter that is to be sent. */
export interface WantedLetter {
  readonly kind: LetterKind;
  readonly to: string;
  readonly facts: Readonly<Record<string, string | null>>;
  readonly language?: LanguageName | null;
  /** The same for what must not be sent twice; by default a new one. */
  readonly id?: string;
}

export interface ShownLetter {
  readonly id: string;
  readonly kind: LetterKind;
  readonly to: string;
  readonly state: LetterState;
  readonly tries: number;
  readonly error: string | null;
  readonly madeAt: string;
  /** When it is tried next; null when it is not. */
  readonly nextAt: string | null;
  readonly endedAt: string | null;
}

export interface OutboxParts {
  readonly store: OutboxStore;
  readonly mail: Mail;
  readonly templates: Pick<LetterTemplates, 'fill'>;
  /** The language of letters whose reader is not known to prefer one. */
  readonly language: LanguageName;
  /** Where people reach this server. */
  readonly base: string;
  /** Called with errors that no answer can report. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #composers = new Map<LetterKind, Composer>();
  readonly #take = randomUUID();
  readonly #end = new AbortController();
  #takes = 0;
  #again = false;
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** Says who makes the letters of a kind. */
  compose(kind: LetterKind, composer: Composer): void {
    this.#composers.set(kind, composer);
  }

  /** Begins to send. All composers must be known. */
  start(): void {
    this.wake();
  }

  /**
   * Stores a letter; when this resolves, it will be sent even if this process ends.
   * @throws MillraceError `overloaded`
   */
  async add({ kind, to, facts, language = null, id = randomUUID() }: WantedLetter): Promise<void> {
    const { store, now } = this.#parts;
    if (await store.areWaiting(MAX_WAITING)) throw tooManyLetters();
    const at = now();
    await store.insert({
      _id: id,
      kind,
      to: foldName(to),
      facts,
      language,
      state: 'waiting',
      tries: 0,
      error: null,
      madeAt: new Date(at),
      dueAt: new Date(at),
      until: new Date(at + LETTERS[kind].usefulMs),
      endedAt: null,
      take: null,
    });
    this.wake();
  }

  /**
   * How many letters of a kind an address got, or will get, in the last milliseconds.
   * @param but the letter that is being made, which does not count, nor do those that come after it
   */
  countLast(ms: number, to: string, kind: LetterKind, but?: string): Promise<number> {
    return this.#parts.store.countSince(foldName(to), kind, new Date(this.#parts.now() - ms), but);
  }

  /** The newest letters first. They hold no link and no code. */
  async list(state: LetterState | null, limit: number): Promise<ShownLetter[]> {
    const rows = await this.#parts.store.list(state, limit);
    return rows.map(({ _id, kind, to, state, tries, error, madeAt, dueAt, endedAt }) => ({
      id: _id,
      kind,
      to,
      state,
      tries,
      error,
      madeAt: madeAt.toISOString(),
      nextAt: state === 'waiting' ? dueAt.toISOString() : null,
      endedAt: endedAt?.toISOString() ?? null,
    }));
  }

  /** Looks for letters that are due. */
  wake(): void {
    this.#again = true;
    if (this.#end.signal.aborted) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#again) this.wake();
    });
  }

  /** Waits until every letter that was due was sent, or put off. */
  async settled(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Ends once the letters that are on their way have been taken. What waits goes out by another process, or after the next start. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#end.abort();
    await this.#running;
    this.#parts.mail.close();
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    await pause(LATER_MS * Math.random(), undefined, { signal: this.#end.signal }).catch(() => undefined);
    this.#again = false;
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, () => this.#work()));
    } catch (error) {
      this.#parts.onError(error);
    }
    if (this.#end.signal.aborted) return;
    const next = await this.#parts.store.nextDue().catch(() => null);
    const wait = next === null ? LOOK_MS : Math.min(LOOK_MS, Math.max(1, next.getTime() - this.#parts.now()));
    this.#timer = setTimeout(() => this.wake(), wait).unref();
  }

  async #work(): Promise<void> {
    const { store, now } = this.#parts;
    while (!this.#end.signal.aborted) {
      this.#takes += 1;
      const row = await store.take(`${this.#take} ${this.#takes}`, new Date(now()), new Date(now() + LEASE_MS));
      if (row === null) return;
      await this.#send(row);
    }
  }

  async #send(row: LetterRow): Promise<void> {
    const { store, now, onError } = this.#parts;
    try {
      if (now() >= row.until.getTime()) return await this.#fail(row, row.error ?? 'It could not be sent in time');
      const composed = await this.#composers.get(row.kind)?.(row, (user) => this.#languageFor(user, row));
      if (composed == null) return await store.drop(row);
      await this.#handOver(row, composed);
      await store.end(row, 'sent', null, new Date(now()));
    } catch (error) {
      const reason = error instanceof LetterNotSent ? error.message : 'The letter could not be made';
      if (!(error instanceof LetterNotSent)) onError(error);
      const next = PAUSES_MS[row.tries - 1];
      const isFinal = error instanceof LetterNotSent && error.isFinal;
      if (isFinal || next === undefined || now() + next >= row.until.getTime()) return await this.#fail(row, reason);
      await store.putOff(row, reason, new Date(now() + next));
    }
  }

  async #handOver(row: LetterRow, { user, to, values }: Composed): Promise<void> {
    const { mail, templates, base } = this.#parts;
    const known = { ...commonValues(user, base), ...values };
    const letter = templates.fill(row.kind, this.#languageFor(user, row), known);
    await mail.send({ to, ...letter });
  }

  async #fail(row: LetterRow, reason: string): Promise<void> {
    const { store, now, onError } = this.#parts;
    await store.end(row, 'failed', reason, new Date(now()));
    onError(new Error(`A letter was not sent (${row.kind}, ${row._id}): ${reason}`));
  }

  /** The language of the account, else of whoever asked for the letter, else of the installation. */
  #languageFor({ profile }: User, { language }: Pick<LetterRow, 'language'>): LanguageName {
    return languageOf(profile['locale']) ?? language ?? this.#parts.language;
  }
}
