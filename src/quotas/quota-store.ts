/**
 * The counts of quotas in `<db>_log.quota_counts`: one document for each principal, and one with the position in the
 * event log up to which they are counted. Only this folder calls it.
 */
import type { AnyBulkWriteOperation, Collection, Document, Timestamp } from 'mongodb';
import { withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import { isCollectionName } from '../database/parse-collection-name.ts';

/** What a principal has created, or the difference that a change makes. */
export interface QuotaAmounts {
  readonly documents: number;
  readonly files: number;
  /** Of its files. */
  readonly bytes: number;
}

/** The last row of the event log that is counted. */
export interface CountedPosition {
  readonly epoch: number;
  readonly number: number;
}

export interface QuotaCountState extends CountedPosition {
  /** Cluster time of the last full count, which includes all changes up to it. */
  readonly time: Timestamp;
  /** Time of that count. */
  readonly countedAt: Date;
}

/** What one row of the event log adds to the counts of one principal. */
export interface QuotaDelta extends QuotaAmounts {
  readonly number: number;
}

interface Stored extends Document {
  _id: string;
}

const STATE = 'state';
const FILES = '_files';
const BATCH = 1_000;

export class QuotaStore {
  readonly #mongo: Mongo;
  readonly #counts: Collection<Stored>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#counts = mongo.log.collection<Stored>('quota_counts');
  }

  /** The position of the counts; null before the first full count. */
  async state(): Promise<QuotaCountState | null> {
    const found = await withTranslatedErrors(() => this.#counts.findOne({ _id: STATE }));
    return found === null ? null : toState(found);
  }

  /**
   * What a principal has created, as far as the log is counted; null before the first full count. One read of two
   * documents.
   */
  async read(creator: string): Promise<{ readonly amounts: QuotaAmounts; readonly position: CountedPosition } | null> {
    const _id = { $in: [STATE, keyOf(creator)] };
    const found = await withTranslatedErrors(() => this.#counts.find({ _id }).toArray());
    const state = found.find((one) => one._id === STATE);
    if (state === undefined) return null;
    const own = found.find((one) => one._id !== STATE);
    const amounts = {
      documents: Number(own?.['documents'] ?? 0),
      files: Number(own?.['files'] ?? 0),
      bytes: Number(own?.['bytes'] ?? 0),
    };
    return { amounts, position: toState(state) };
  }

  /** Adds the changes of rows of the log. Each row counts once, even if it is passed again. */
  async add(deltas: ReadonlyMap<string, readonly QuotaDelta[]>): Promise<void> {
    const operations = [...deltas].map(([creator, added]): AnyBulkWriteOperation<Stored> => {
      const isNew = { $gt: ['$$this.number', { $ifNull: ['$number', 0] }] };
      const sum = (field: string) => ({ $add: [{ $ifNull: [`$${field}`, 0] }, { $sum: `$added.${field}` }] });
      const update = [
        { $set: { added: { $filter: { input: { $literal: [...added] }, cond: isNew } } } },
        { $set: { documents: sum('documents'), files: sum('files'), bytes: sum('bytes') } },
        { $set: { number: { $max: ['$number', added.at(-1)?.number ?? 0] } } },
        { $unset: 'added' },
      ];
      return { updateOne: { filter: { _id: keyOf(creator) }, update, upsert: true } };
    });
    if (operations.length > 0) await this.#counts.bulkWrite(operations, { ordered: false });
  }

  /** Stores the position of the counts. */
  async advancePosition({ epoch, number }: CountedPosition): Promise<void> {
    await this.#counts.updateOne({ _id: STATE }, { $set: { epoch, number } });
  }

  /**
   * Recounts everything at one point in time. The old counts stay in use until the new ones are complete.
   * @param position a row of the log; the count's time is at or after it
   * @throws MongoServerError when a collection was created or dropped during the count; another attempt may succeed
   */
  async recount(position: CountedPosition): Promise<QuotaCountState> {
    const time = await this.#moment();
    await this.#counts.updateMany({ next: { $exists: true } }, { $unset: { next: '' } });
    const found = await this.#mongo.data.listCollections({ type: 'collection' }, { nameOnly: false }).toArray();
    for (const { name, options } of found) {
      // A capped collection cannot be read with a snapshot.
      if ((name === FILES || isCollectionName(name)) && options?.['capped'] !== true) await this.#gather(name, time);
    }
    const total = (field: string) => ({ $ifNull: [`$next.${field}`, 0] });
    await this.#counts.updateMany({ _id: { $ne: STATE } }, [
      { $set: { documents: total('documents'), files: total('files'), bytes: total('bytes') } },
      { $unset: ['next', 'number'] },
    ]);
    const state = { epoch: position.epoch, number: position.number, time, countedAt: new Date() };
    await this.#counts.updateOne({ _id: STATE }, { $set: state }, { upsert: true });
    return state;
  }

  /** Counts one collection into `next`. */
  async #gather(name: string, time: Timestamp): Promise<void> {
    const size = name === FILES ? { $sum: '$size' } : { $sum: 0 };
    const pipeline = [
      { $match: { '_meta.createdBy': { $type: 'string' } } },
      { $group: { _id: '$_meta.createdBy', created: { $sum: 1 }, bytes: size } },
    ];
    const readConcern = { level: 'snapshot', atClusterTime: time };
    const command = { aggregate: name, pipeline, allowDiskUse: true, readConcern, cursor: { batchSize: BATCH } };
    let operations: AnyBulkWriteOperation<Stored>[] = [];
    const write = async () => {
      if (operations.length > 0) await this.#counts.bulkWrite(operations, { ordered: false });
      operations = [];
    };
    for await (const group of this.#mongo.data.runCursorCommand(command)) {
      const field = name === FILES ? 'next.files' : 'next.documents';
      const update = { $inc: { [field]: Number(group['created']), 'next.bytes': Number(group['bytes']) } };
      operations.push({ updateOne: { filter: { _id: keyOf(String(group['_id'])) }, update, upsert: true } });
      if (operations.length >= BATCH) await write();
    }
    await write();
  }

  /** A cluster time for which the database can provide snapshots. */
  async #moment(): Promise<Timestamp> {
    const reply = await this.#mongo.data.command({ find: FILES, limit: 1, readConcern: { level: 'snapshot' } });
    return reply['cursor'].atClusterTime;
  }
}

/** The prefix separates the ids of principals from the id of the state. */
function keyOf(creator: string): string {
  return `by:${creator}`;
}

function toState(stored: Stored): QuotaCountState {
  return {
    epoch: Number(stored['epoch']),
    number: Number(stored['number']),
    time: stored['time'],
    countedAt: stored['countedAt'],
  };
}
