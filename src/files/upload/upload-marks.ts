/**
 * Marks in `<db>_log.uploads`. A mark is a note, durable before the first byte is stored, that a store may hold bytes
 * without a document. The process that writes the bytes holds the mark's lease; when the lease runs out, the sweep
 * takes the mark (sweep.ts). A file is committed by deleting its mark and inserting its document in one transaction. If
 * the sweep took the mark first, that commit fails: so a document never exists without its bytes.
 */
import type { ClientSession, Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { FileKey } from '../stores/file-store.ts';

/** How long a mark outlives its process. */
const LEASE_MS = 60_000;
const RENEW_MS = 15_000;

export interface UploadMark {
  readonly _id: string;
  readonly store: string;
  readonly key: FileKey;
  readonly until: Date;
  /** True if the sweep took it; only a mark that it never took can be committed. */
  readonly taken: boolean;
  /** Whether the sweep has cleaned up after it once. */
  readonly cleaned: boolean;
}

export class UploadMarks {
  readonly #marks: Collection<UploadMark>;
  readonly #held = new Map<string, AbortController>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(mongo: Mongo) {
    this.#marks = mongo.log.collection<UploadMark>('uploads');
  }

  async start(): Promise<void> {
    await translated(() => this.#marks.createIndex({ until: 1 }));
    this.#timer = setInterval(() => {
      // A failed round is repaired by the next one; the lease outlives three of them.
      this.#round = this.#round.then(() => this.#renew()).catch(() => undefined);
    }, RENEW_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  /**
   * Marks bytes that are about to be written, or to lose their document.
   * @returns aborted when the mark was lost, so that its holder stops writing
   */
  async hold(store: string, key: FileKey): Promise<AbortSignal> {
    await this.#put(store, key, LEASE_MS);
    const lost = new AbortController();
    this.#held.set(markId(store, key), lost);
    return lost.signal;
  }

  /** Leaves bytes without a document to the sweep, after a delay in which downloads may finish. */
  condemn(store: string, key: FileKey, delayMs: number): Promise<void> {
    return this.#put(store, key, delayMs);
  }

  /** Deletes marks as part of a commit. @throws MillraceError when the sweep took one first */
  async commit(store: string, keys: readonly FileKey[], session: ClientSession): Promise<void> {
    const _id = { $in: keys.map((key) => markId(store, key)) };
    const { deletedCount } = await this.#marks.deleteMany({ _id, taken: false }, { session });
    if (deletedCount === keys.length) return;
    throw new MillraceError('upload-expired', 'The upload stopped for too long and was removed', {
      hint: 'Send it again',
    });
  }

  /** No longer renews a mark; the sweep gets it unless it was committed. */
  letGo(store: string, key: FileKey): void {
    this.#held.delete(markId(store, key));
  }

  /** Deletes a mark whose bytes are gone. */
  async settle(store: string, key: FileKey): Promise<void> {
    this.letGo(store, key);
    await translated(() => this.#marks.deleteOne({ _id: markId(store, key) }));
  }

  /** Takes one mark whose lease ran out, for `LEASE_MS`; null when there is none. */
  async takeExpired(): Promise<UploadMark | null> {
    return translated(() =>
      this.#marks.findOneAndUpdate(
        { $expr: { $lt: ['$until', '$$NOW'] } },
        [{ $set: { until: { $add: ['$$NOW', LEASE_MS] }, taken: true } }],
        { sort: { until: 1 }, returnDocument: 'after' },
      ),
    );
  }

  /** Lets a taken mark come up again later. */
  async postpone({ _id }: UploadMark, delayMs: number, cleaned: boolean): Promise<void> {
    const until = { $add: ['$$NOW', delayMs] };
    await translated(() => this.#marks.updateOne({ _id }, [{ $set: { until, cleaned } }]));
  }

  /** When the next lease runs out, undefined when there is no mark. */
  async nextExpiry(): Promise<Date | undefined> {
    const next = await translated(() => this.#marks.findOne({}, { sort: { until: 1 }, projection: { until: 1 } }));
    return next?.until;
  }

  async #put(store: string, key: FileKey, leaseMs: number): Promise<void> {
    const until = { $add: ['$$NOW', leaseMs] };
    await translated(() =>
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
      // Committed and let go meanwhile: nothing is lost.
      if (!left.has(id)) this.#held.get(id)?.abort(new MillraceError('upload-expired', 'The upload was removed'));
    }
  }
}

function markId(store: string, key: FileKey): string {
  return `${store}/${key}`;
}
