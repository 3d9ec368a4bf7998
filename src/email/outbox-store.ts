/**
 * E-mails that wait to be sent, and their results: `<db>_log.emails`. A row contains the kind, the
 * facts and the recipient. The link or code of an e-mail is created when it is sent, and is never stored.
 */
import { withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import { DUE_INDEX, EXPIRY_INDEX, JobCollection, type JobRow } from '../queue/job-collection.ts';
import type { EmailKind, EmailState } from './locales/email-types.ts';
import type { LanguageCode } from './locales/locales.ts';

/** How long rows are stored, in milliseconds. */
export const EMAIL_RETENTION_MS = 7 * 24 * 3_600_000;

export interface EmailRow extends JobRow {
  readonly kind: EmailKind;
  /** The e-mail address, folded. */
  readonly to: string;
  /** The content, by type; no secrets. Missing once it is sent or has failed. */
  readonly facts?: Readonly<Record<string, string | null>>;
  /** The language of the requester; null when that is unknown. */
  readonly language: LanguageCode | null;
  readonly state: EmailState;
  /** Number of attempts. */
  readonly attempts: number;
  /** The error of the last attempt, in words. */
  readonly error: string | null;
  readonly createdAt: Date;
  /** After this time it is not worth sending. */
  readonly until: Date;
  /** When it was sent, or failed; null while it waits. */
  readonly finishedAt: Date | null;
}

export class OutboxStore extends JobCollection<EmailRow> {
  constructor({ log }: Pick<Mongo, 'log'>) {
    super(log, 'emails');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() =>
      this.rows.createIndexes([DUE_INDEX, { key: { to: 1, createdAt: 1 } }, { key: { createdAt: -1 } }, EXPIRY_INDEX]),
    );
  }

  /** Whether at least so many e-mails wait. */
  async areWaiting(count: number): Promise<boolean> {
    // Answered from the index alone.
    const waiting = { dueAt: { $gt: new Date(0) } };
    return (await withTranslatedErrors(() => this.rows.countDocuments(waiting, { limit: count }))) >= count;
  }

  /**
   * How many e-mails of a type went, or will go, to an address since a time.
   * @param but an e-mail that does not count. If there is one, those without an attempt do not count either
   */
  countSince(to: string, kind: EmailKind, since: Date, but?: string): Promise<number> {
    const others = but === undefined ? {} : { _id: { $ne: but }, attempts: { $gt: 0 } };
    return withTranslatedErrors(() => this.rows.countDocuments({ to, createdAt: { $gt: since }, kind, ...others }));
  }

  /** Leases the e-mail that is due longest for a time, and starts its attempt; null when none is due. */
  lease(token: string, now: Date, until: Date): Promise<EmailRow | null> {
    return this.leaseOne({}, now, { $set: { dueAt: until, token }, $inc: { attempts: 1 } });
  }

  /** Completes an e-mail that this worker still leases. */
  async end(row: EmailRow, state: 'succeeded' | 'failed', error: string | null, now: Date): Promise<void> {
    const change = { $set: { state, error, finishedAt: now, token: null }, $unset: { facts: '', dueAt: '' } };
    await this.updateLeased(row, change);
  }

  /** Schedules the next attempt of an e-mail that this worker still leases. */
  async reschedule(row: EmailRow, error: string, dueAt: Date): Promise<void> {
    await this.updateLeased(row, { $set: { error, dueAt, token: null } });
  }

  /** Returns a leased e-mail without an attempt. */
  async release(row: EmailRow, dueAt: Date): Promise<void> {
    await this.updateLeased(row, { $set: { dueAt, token: null }, $inc: { attempts: -1 } });
  }

  /** Deletes an e-mail that is not to be sent. */
  async drop({ _id, token = null }: EmailRow): Promise<void> {
    await withTranslatedErrors(() => this.rows.deleteOne({ _id, token }));
  }

  /** The newest e-mails first. */
  list(state: EmailState | null, limit: number): Promise<EmailRow[]> {
    return withTranslatedErrors(() =>
      this.rows
        .find(state === null ? {} : { state })
        .sort({ createdAt: -1 })
        .limit(limit)
        .toArray(),
    );
  }
}
