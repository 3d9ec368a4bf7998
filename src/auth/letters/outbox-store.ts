/**
 * Where letters wait to be sent, and what came of them: `<db>_log.letters`. A row says what is to be said and to whom; the
 * link or code of a letter is made when it is sent, and is in no row. Only this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { LanguageName } from './languages/languages.ts';
import type { LetterKind, LetterState } from './languages/letter-kinds.ts';

/** How long rows are kept, in seconds. */
const KEPT_SECONDS = 7 * 24 * 3_600;

export interface LetterRow {
  readonly _id: string;
  readonly kind: LetterKind;
  /** The address, folded. */
  readonly to: string;
  /** What the letter is about, by its kind; no secrets. Missing once it is sent or has failed. */
  readonly facts?: Readonly<Record<string, string | null>>;
  /** The language of whoever asked for it; null when that is not known. */
  readonly language: LanguageName | null;
  readonly state: LetterState;
  /** How often it was tried to send it. */
  readonly tries: number;
  /** Why the last try failed, in words. */
  readonly error: string | null;
  readonly madeAt: Date;
  /** When it may be taken. Whoever takes it moves this time, so that nobody else takes it meanwhile. */
  readonly dueAt: Date;
  /** After this time it is not worth sending. */
  readonly until: Date;
  /** When it was sent, or given up; null while it waits. */
  readonly endedAt: Date | null;
  /** By whom it was taken last. */
  readonly take: string | null;
}

export class OutboxStore {
  readonly #rows: Collection<LetterRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<LetterRow>('letters');
  }

  async start(): Promise<void> {
    await translated(() =>
      this.#rows.createIndexes([
        { key: { state: 1, dueAt: 1 } },
        { key: { to: 1, madeAt: 1 } },
        { key: { madeAt: 1 }, expireAfterSeconds: KEPT_SECONDS },
      ]),
    );
  }

  /** Stores a letter; one with this id that is there already stays as it is. */
  async insert(row: LetterRow): Promise<void> {
    await translated(async () => {
      await this.#rows.insertOne({ ...row }).catch((error: unknown) => {
        if (!duplicateKey(error)) throw error;
      });
    });
  }

  /** Whether at least so many letters wait. */
  async areWaiting(count: number): Promise<boolean> {
    return (await translated(() => this.#rows.countDocuments({ state: 'waiting' }, { limit: count }))) >= count;
  }

  /**
   * How many letters of a kind went to an address since a time, or will go there.
   * @param but a letter that does not count. If there is one, neither do those that nobody has tried to send yet
   */
  countSince(to: string, kind: LetterKind, since: Date, but?: string): Promise<number> {
    const others = but === undefined ? {} : { _id: { $ne: but }, tries: { $gt: 0 } };
    return translated(() => this.#rows.countDocuments({ to, madeAt: { $gt: since }, kind, ...others }));
  }

  /** Takes the letter that is due first, for a time; null when none is due. */
  take(take: string, now: Date, until: Date): Promise<LetterRow | null> {
    return translated(() =>
      this.#rows.findOneAndUpdate(
        { state: 'waiting', dueAt: { $lte: now } },
        { $set: { dueAt: until, take }, $inc: { tries: 1 } },
        { sort: { dueAt: 1 }, returnDocument: 'after' },
      ),
    );
  }

  /** When the next letter is due; null when none waits. */
  async nextDue(): Promise<Date | null> {
    const next = await translated(() =>
      this.#rows.findOne({ state: 'waiting' }, { sort: { dueAt: 1 }, projection: { dueAt: 1 } }),
    );
    return next?.dueAt ?? null;
  }

  /** Ends a letter that is taken by this name still. */
  async end(
    { _id, take }: Pick<LetterRow, '_id' | 'take'>,
    state: 'sent' | 'failed',
    error: string | null,
    now: Date,
  ): Promise<void> {
    await translated(() =>
      this.#rows.updateOne({ _id, take }, { $set: { state, error, endedAt: now, take: null }, $unset: { facts: '' } }),
    );
  }

  /** Lets a letter that is taken by this name wait for its next try. */
  async putOff(row: Pick<LetterRow, '_id' | 'take'>, error: string, dueAt: Date): Promise<void> {
    const { _id, take } = row;
    await translated(() => this.#rows.updateOne({ _id, take }, { $set: { error, dueAt, take: null } }));
  }

  /** Forgets a letter that is not to be sent. */
  async drop({ _id, take }: Pick<LetterRow, '_id' | 'take'>): Promise<void> {
    await translated(() => this.#rows.deleteOne({ _id, take }));
  }

  /** The newest letters first. */
  list(state: LetterState | null, limit: number): Promise<LetterRow[]> {
    return translated(() =>
      this.#rows
        .find(state === null ? {} : { state })
        .sort({ madeAt: -1 })
        .limit(limit)
        .toArray(),
    );
  }
}
