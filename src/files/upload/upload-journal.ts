/**
 * The upload journal in `<db>_log.uploads`. An entry records, durably and before the first byte is stored, that a store may hold
 * bytes without a document. The writing process holds the entry's lease; when it expires, orphan cleanup leases the entry
 * (orphan-cleanup.ts). A file is committed by deleting its entry and inserting its document in one transaction. If orphan cleanup
 * leased the entry first, that commit fails: so a document never exists without its bytes.
 */
import type { ClientSession, Collection } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { FileKey } from '../stores/file-store.ts';

/** How long an entry outlives its process. */
const LEASE_MS = 60_000;
const RENEW_MS = 15_000;

export interface UploadJournalEntry {
  readonly _id: string;
  readonly store: string;
  readonly key: FileKey;
  readonly until: Date;
  /** True if orphan cleanup has leased it; only an entry that it never leased can be committed. */
  readonly taken: boolean;
  /** Whether orphan cleanup has processed it once. */
  readonly cleaned: boolean;
}

export class UploadJournal {
  readonly #marks: Collection<UploadJournalEntry>;
  readonly #held = new Map<string, AbortController>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(mongo: Mongo) {
    this.#marks = mongo.log.collection<UploadJournalEntry>('uploads');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() => this.#marks.createIndex({ until: 1 }));
    this.#timer = setInterval(() => {
      // The next renewal makes up for a failed one; the lease outlives three of them.
      this.#round = this.#round.then(() => this.#renew()).catch(() => undefined);
    }, RENEW_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  /**
   * Records bytes that are about to be written, or to lose their document.
   * @returns aborted when the lease was lost, so that its holder stops writing
   */
  async recordPending(store: string, key: FileKey): Promise<AbortSignal> {
    await this.#put(store, key, LEASE_MS);
    const lost = new AbortController();
    this.#held.set(markId(store, key), lost);
    return lost.signal;
  }

  /** Leaves bytes without a document to orphan cleanup, after a delay in which downloads may finish. */
  scheduleRemoval(store: string, key: FileKey, delayMs: number): Promise<void> {
    return this.#put(store, key, delayMs);
  }

  /**
   * Deletes entries as part of a commit.
   * @throws MillraceError if orphan cleanup leased one first
   */
  async commit(store: string, keys: readonly FileKey[], session: ClientSession): Promise<void> {
    const _id = { $in: keys.map((key) => markId(store, key)) };
    const { deletedCount } = await this.#marks.deleteMany({ _id, taken: false }, { session });
    if (deletedCount === keys.length) return;
    throw new MillraceError('upload-timeout', 'The upload was stalled for too long and was removed', {
      hint: 'Send it again',
    });
  }

  /** Stops renewing a lease; orphan cleanup leases the entry unless it was committed. */
  releaseLease(store: string, key: FileKey): void {
    this.#held.delete(markId(store, key));
  }

  /** Deletes an entry whose bytes were removed. */
  async deleteEntry(store: string, key: FileKey): Promise<void> {
    this.releaseLease(store, key);
    await withTranslatedErrors(() => this.#marks.deleteOne({ _id: markId(store, key) }));
  }

  /** Leases one expired entry for `LEASE_MS`; null if there is none. */
  async leaseExpired(): Promise<UploadJournalEntry | null> {
    return withTranslatedErrors(() =>
      this.#marks.findOneAndUpdate(
        { $expr: { $lt: ['$until', '$$NOW'] } },
        [{ $set: { until: { $add: ['$$NOW', LEASE_MS] }, taken: true } }],
        { sort: { until: 1 }, returnDocument: 'after' },
      ),
    );
  }

  /** Returns a leased entry, to be processed again later. */
  async postpone({ _id }: UploadJournalEntry, delayMs: number, cleaned: boolean): Promise<void> {
    const until = { $add: ['$$NOW', delayMs] };
    await withTranslatedErrors(() => this.#marks.updateOne({ _id }, [{ $set: { until, cleaned } }]));
  }

  /** When the next lease expires, undefined if there is no entry. */
  async nextExpiry(): Promise<Date | undefined> {
    const next = await withTranslatedErrors(() =>
      this.#marks.findOne({}, { sort: { until: 1 }, projection: { until: 1 } }),
    );
    return next?.until;
  }

  async #put(store: string, key: FileKey, leaseMs: number): Promise<void> {
    const until = { $add: ['$$NOW', leaseMs] };
    await withTranslatedErrors(() =>
      this.#marks.updateOne(
        { _id: markId(store, key) },
        [{ $set: { store: { $literal: store }, key: { $literal: key }, until, taken: false, cleaned: false } }],
        { upsert: true },
      ),
    );
  }

  async #renew(): Promise<void> {
    const ids = [...this.#held.keys()];
    if (ids.length === 0) return;
    const ours = { _id: { $in: ids }, taken: false };
    const { matchedCount } = await this.#marks.updateMany(ours, [{ $set: { until: { $add: ['$$NOW', LEASE_MS] } } }]);
    if (matchedCount === ids.length) return;
    const left = new Set((await this.#marks.find(ours, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id));
    for (const id of ids) {
      // Committed and released meanwhile: nothing is lost.
      if (!left.has(id)) this.#held.get(id)?.abort(new MillraceError('upload-timeout', 'The upload was removed'));
    }
  }
}

function markId(store: string, key: FileKey): string {
  return `${store}/${key}`;
}
