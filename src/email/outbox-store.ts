/**
 * E-mails that wait to be sent, and their results: `<db>_log.emails`. A row contains the kind, the
 * facts and the recipient. The link or code of an e-mail is created when it is sent, and is never stored.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import type { EmailKind, EmailState } from './locales/email-types.ts';
import type { LanguageName } from './locales/locales.ts';

/** How long rows are stored, in seconds. */
const RETENTION_SECONDS = 7 * 24 * 3_600;

export interface EmailRow {
  readonly _id: string;
  readonly kind: EmailKind;
  /** The e-mail address, folded. */
  readonly to: string;
  /** The content, by type; no secrets. Missing once it is sent or has failed. */
  readonly facts?: Readonly<Record<string, string | null>>;
  /** The language of the requester; null when that is unknown. */
  readonly language: LanguageName | null;
  readonly state: EmailState;
  /** Number of attempts. */
  readonly attempts: number;
  /** The error of the last attempt, in words. */
  readonly error: string | null;
  readonly createdAt: Date;
  /** When it is due. A worker that leases it moves this time, so that no other one leases it meanwhile. */
  readonly dueAt: Date;
  /** After this time it is not worth sending. */
  readonly until: Date;
  /** When it was sent, or failed; null while it waits. */
  readonly finishedAt: Date | null;
  /** The worker that leased it last. */
  readonly take: string | null;
}

export class OutboxStore {
  readonly #rows: Collection<EmailRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<EmailRow>('emails');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() =>
      this.#rows.createIndexes([
        { key: { state: 1, dueAt: 1 } },
        { key: { to: 1, createdAt: 1 } },
        { key: { createdAt: 1 }, expireAfterSeconds: RETENTION_SECONDS },
      ]),
    );
  }

  /** Stores an e-mail; an existing one with this id stays as it is. */
  async insert(row: EmailRow): Promise<void> {
    await withTranslatedErrors(async () => {
      await this.#rows.insertOne({ ...row }).catch((error: unknown) => {
        if (!duplicateKey(error)) throw error;
      });
    });
  }

  /** Whether at least so many e-mails wait. */
  async areWaiting(count: number): Promise<boolean> {
    return (
      (await withTranslatedErrors(() => this.#rows.countDocuments({ state: 'pending' }, { limit: count }))) >= count
    );
  }

  /**
   * How many e-mails of a type went, or will go, to an address since a time.
   * @param but an e-mail that does not count. If there is one, those without an attempt do not count either
   */
  countSince(to: string, kind: EmailKind, since: Date, but?: string): Promise<number> {
    const others = but === undefined ? {} : { _id: { $ne: but }, attempts: { $gt: 0 } };
    return withTranslatedErrors(() => this.#rows.countDocuments({ to, createdAt: { $gt: since }, kind, ...others }));
  }

  /** Leases the first due e-mail for a time; null when none is due. */
  take(take: string, now: Date, until: Date): Promise<EmailRow | null> {
    return withTranslatedErrors(() =>
      this.#rows.findOneAndUpdate(
        { state: 'pending', dueAt: { $lte: now } },
        { $set: { dueAt: until, take }, $inc: { attempts: 1 } },
        { sort: { dueAt: 1 }, returnDocument: 'after' },
      ),
    );
  }

  /** When the next e-mail is due; null when none waits. */
  async nextDue(): Promise<Date | null> {
    const next = await withTranslatedErrors(() =>
      this.#rows.findOne({ state: 'pending' }, { sort: { dueAt: 1 }, projection: { dueAt: 1 } }),
    );
    return next?.dueAt ?? null;
  }

  /** Completes an e-mail that this worker still leases. */
  async end(
    { _id, take }: Pick<EmailRow, '_id' | 'take'>,
    state: 'succeeded' | 'failed',
    error: string | null,
    now: Date,
  ): Promise<void> {
    await withTranslatedErrors(() =>
      this.#rows.updateOne(
        { _id, take },
        { $set: { state, error, finishedAt: now, take: null }, $unset: { facts: '' } },
      ),
    );
  }

  /** Schedules the next attempt of an e-mail that this worker still leases. */
  async reschedule(row: Pick<EmailRow, '_id' | 'take'>, error: string, dueAt: Date): Promise<void> {
    const { _id, take } = row;
    await withTranslatedErrors(() => this.#rows.updateOne({ _id, take }, { $set: { error, dueAt, take: null } }));
  }

  /** Deletes an e-mail that is not to be sent. */
  async drop({ _id, take }: Pick<EmailRow, '_id' | 'take'>): Promise<void> {
    await withTranslatedErrors(() => this.#rows.deleteOne({ _id, take }));
  }

  /** The newest e-mails first. */
  list(state: EmailState | null, limit: number): Promise<EmailRow[]> {
    return withTranslatedErrors(() =>
      this.#rows
        .find(state === null ? {} : { state })
        .sort({ createdAt: -1 })
        .limit(limit)
        .toArray(),
    );
  }
}
