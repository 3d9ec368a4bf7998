/**
 * The durable log: rows with gapless numbers in one clustered collection of `<db>_log`, and what belongs to them: the
 * mark for idle times, the floor below which nothing counts. Appending is compare-and-set by the unique number.
 * Not here: who may append (recorder.ts), what is deleted when (retention.ts).
 */
import type { Binary, Collection, CollectionInfo, Db, Document } from 'mongodb';
import { CODE, serverCode } from '../../database/errors.ts';
import { UnusableDatabase } from '../../database/unusable.ts';
import { within } from '../../kernel/concurrency/deadline.ts';

import { decodeRow, EMPTY_ROW, encodeRow, type LogRow, rowBytes, wholeBytes } from './row.ts';

const BATCH_ROWS = 500;
const BATCH_BYTES = 8 * 1024 * 1024;
const READ_BYTES = 16 * 1024 * 1024;
const ANSWER_MS = 10_000;
const MAJORITY = { readConcern: { level: 'majority' } } as const;

interface Named extends Document {
  _id: string;
}

/** The log cannot be used as it is found; trying again does not help. */
export class UnusableLog extends UnusableDatabase {}

/** Another recorder was faster: the numbers are taken. */
export class NumbersTaken extends Error {
  override readonly name = 'NumbersTaken';
}

export class EventLog {
  readonly db: Db;
  readonly #rows: Collection<Document>;
  readonly #mark: Collection<Named>;
  readonly #floor: Collection<Named>;
  readonly #database: string;
  /** Which collection of that name rows are for; undefined before it was looked at. */
  #uuid: Binary | undefined;

  /**
   * @param db the log's own database
   * @param database name of the data database the log belongs to
   */
  constructor(db: Db, database: string) {
    this.db = db;
    this.#rows = db.collection('log');
    this.#mark = db.collection('mark');
    this.#floor = db.collection('floor');
    this.#database = database;
  }

  /** Makes what is missing. Throws UnusableLog when this is the log of another database. */
  async open(): Promise<void> {
    await this.db
      .createCollection('log', { clusteredIndex: { key: { _id: 1 }, unique: true } })
      .catch((error: unknown) => {
        if (serverCode(error) !== CODE.namespaceExists) throw error;
      });
    const [found] = await this.db.listCollections<CollectionInfo>({ name: 'log' }, { nameOnly: false }).toArray();
    this.#uuid = found?.info?.uuid;
    const first = { db: this.#database, floor: 0 };
    const floor = await this.#floor.findOneAndUpdate(
      { _id: 'log' },
      { $setOnInsert: first },
      { upsert: true, returnDocument: 'after' },
    );
    const row = await this.#rows.findOne({ op: 'start', _id: { $lte: 1 } } as Document, MAJORITY);
    for (const name of [floor?.['db'], row?.['db']]) {
      if (name === undefined || name === this.#database) continue;
      throw new UnusableLog(
        `The event log in ${this.db.databaseName} belongs to the database '${name}', not to '${this.#database}'. ` +
          'Restore the right one, or drop it to begin a new history.',
      );
    }
  }

  /** The newest row without its bodies, or null when the log is empty. */
  async newest(): Promise<LogRow | null> {
    const [row] = await this.#find({}, { sort: { _id: -1 }, limit: 1, projection: { a: 0, b: 0, u: 0 } });
    return row ?? null;
  }

  /** Row by number, without its bodies. */
  async row(number: number): Promise<LogRow | null> {
    const [row] = await this.#find({ _id: number }, { limit: 1, projection: { a: 0, b: 0, u: 0 } });
    return row ?? null;
  }

  /**
   * Rows above a number in their order, at most so many, and no more once they have that many bytes; they begin higher when
   * older ones are gone, and never below the floor, even where a recorder that woke up late has put old rows back.
   */
  async read(after: number, limit: number, maxBytes = READ_BYTES): Promise<LogRow[]> {
    const rows: LogRow[] = [];
    let bytes = 0;
    for await (const stored of this.#rows.find({ _id: { $gt: after } } as Document, {
      sort: { _id: 1 },
      limit,
      ...MAJORITY,
      raw: true,
    })) {
      const row = decodeRow(stored as unknown as Uint8Array);
      rows.push(row);
      bytes += rowBytes(row);
      if (bytes > maxBytes) break;
    }
    // Asked after the rows: what is deleted meanwhile is below a floor that is seen here.
    const floor = await this.floor();
    return rows.filter((row) => row.number >= floor);
  }

  /**
   * Rows of some collections in their order, and those about all of them, and the ends of transactions; the others are
   * left out by the server.
   * @returns with how far was looked; null when rows in between are gone
   */
  async about(asked: {
    readonly after: number;
    readonly through: number;
    readonly collections: readonly string[];
    readonly limit: number;
    /** Bytes at which it stops. */
    readonly maxBytes?: number;
  }): Promise<{ readonly rows: readonly LogRow[]; readonly through: number } | null> {
    const { after, through, collections, limit, maxBytes = READ_BYTES } = asked;
    // A pattern of events such as `fs.*` means `fs.files` of others, too; no name of ours has anything below it.
    const below = collections.filter((name) => !name.startsWith('_')).map((name) => new RegExp(`^${name}\\.`));
    const names = { $in: [...collections, ...below] };
    const concerns = [{ c: names }, { to: names }, { op: { $in: ['gap', 'dropDatabase'] } }, { 'x.z': true }];
    const filter = { _id: { $gt: after, $lte: through }, $or: concerns } as Document;
    const rows: LogRow[] = [];
    let bytes = 0;
    let whole = true;
    for await (const stored of this.#rows.find(filter, { sort: { _id: 1 }, limit, ...MAJORITY, raw: true })) {
      const row = decodeRow(stored as unknown as Uint8Array);
      rows.push(row);
      bytes += wholeBytes(row);
      whole = rows.length < limit && bytes <= maxBytes;
      if (!whole) break;
    }
    if ((await this.floor()) - 1 > after) return null;
    return { rows, through: whole ? through : (rows.at(-1)?.number ?? through) };
  }

  /** The first row whose epoch is above the given one: a gap. */
  async firstAbove(epoch: number): Promise<LogRow | null> {
    const [row] = await this.#find({ e: { $gt: epoch } }, { sort: { _id: 1 }, limit: 1 });
    return row ?? null;
  }

  /**
   * Makes the very first row, in an epoch no earlier log of this database had. Throws NumbersTaken when there is one.
   * @param above where nothing here knows of earlier epochs: one that none of them reached
   */
  async begin(start: Pick<LogRow, 'token' | 'time'>, above: number): Promise<void> {
    const known = await this.#floor.findOne({ _id: 'log' });
    const epoch = await this.nextEpoch(known?.['epoch'] === undefined ? above : 0);
    // A log that was dropped leaves its floor behind, which would hide the new rows.
    await this.#floor.updateOne({ _id: 'log' }, { $set: { floor: 0 } });
    const row: LogRow = { ...EMPTY_ROW, ...start, number: 1, epoch, wall: new Date(), operation: 'start' };
    await this.#insert([{ ...encodeRow(row), db: this.#database }]);
  }

  /** An epoch above the given one that was never handed out before. */
  async nextEpoch(above: number): Promise<number> {
    const floor = await this.#floor.findOneAndUpdate(
      { _id: 'log' },
      [{ $set: { epoch: { $add: [{ $max: ['$epoch', above] }, 1] } } }],
      { returnDocument: 'after' },
    );
    return Number(floor?.['epoch'] ?? above + 1);
  }

  /**
   * Appends rows in batches, one after the other, each acknowledged by a majority before the next one leaves.
   * @param allowed asked before every batch; when it says no the rest is not written
   * @param written told of every batch that is acknowledged
   * @throws NumbersTaken when a number exists; any other error means that nobody knows how much was written
   */
  async append(
    rows: readonly LogRow[],
    allowed: () => boolean,
    written: (rows: readonly LogRow[]) => void,
  ): Promise<void> {
    for (const batch of rowBatches(rows)) {
      if (!allowed()) throw new NumbersTaken('The lease is lost');
      await this.#insert(batch.map(encodeRow));
      written(batch);
    }
  }

  async #insert(documents: Document[]): Promise<void> {
    // A command of its own is never sent twice by the driver, unlike insertMany on a client with retryable writes. Naming
    // the very collection, it fails where that was dropped: the server would make another one, without its index of rows.
    const which = this.#uuid === undefined ? {} : { collectionUUID: this.#uuid };
    const command = { insert: 'log', documents, ordered: true, ...which, writeConcern: { w: 'majority' } };
    const reply = await within(ANSWER_MS, (signal) => this.db.command(command, { signal }));
    const fault = reply['writeErrors']?.[0];
    if (fault?.code === CODE.duplicateKey) throw new NumbersTaken('A row with this number exists');
    if (fault?.code === CODE.otherCollection) throw new Error('The collection of the log was dropped');
    if (fault) throw Object.assign(new Error(String(fault.errmsg)), { code: fault.code, index: fault.index });
    if (reply['writeConcernError']) throw new Error(String(reply['writeConcernError'].errmsg));
  }

  /** The token up to which nothing follows the given row, when one was noted above the row's own. */
  async mark(row: Pick<LogRow, 'number' | 'token'>): Promise<string> {
    const mark = await this.#mark.findOne({ _id: 'log', after: row.number });
    const token: unknown = mark?.['token'];
    return typeof token === 'string' && token > row.token ? token : row.token;
  }

  /** Notes that nothing follows the row before this token. */
  async setMark(after: number, token: string): Promise<void> {
    await this.#mark.updateOne({ _id: 'log' }, { $set: { after, token } }, { upsert: true });
  }

  /** Rows below this number do not count any more, whether they exist or not. */
  async floor(): Promise<number> {
    const floor = await this.#floor.findOne({ _id: 'log' }, MAJORITY);
    return Number(floor?.['floor'] ?? 0);
  }

  /** Raises the floor, first; only then may rows below it be deleted. */
  async raiseFloor(floor: number): Promise<void> {
    await this.#floor.updateOne({ _id: 'log' }, { $max: { floor } }, { writeConcern: { w: 'majority' } });
  }

  /** Deletes rows below a number, at most so many; returns how many went. */
  async deleteBelow(number: number, block: number): Promise<number> {
    const [last] = await this.#rows
      .find({ _id: { $lt: number } } as Document, {
        sort: { _id: 1 },
        skip: block - 1,
        limit: 1,
        projection: { _id: 1 },
      })
      .toArray();
    const below = last === undefined ? { $lt: number } : { $lte: last['_id'] };
    return (await this.#rows.deleteMany({ _id: below } as Document)).deletedCount;
  }

  /** Which replica set the log was written on; null when that is not known. */
  async origin(): Promise<string | null> {
    const floor = await this.#floor.findOne({ _id: 'log' });
    return typeof floor?.['set'] === 'string' ? floor['set'] : null;
  }

  async setOrigin(set: string): Promise<void> {
    await this.#floor.updateOne({ _id: 'log' }, { $set: { set } });
  }

  /** The time by the clock of the database. */
  async now(): Promise<Date> {
    return (await this.db.command({ hello: 1 }))['localTime'];
  }

  /** How many rows there are and how many bytes they take, as the server estimates. */
  async size(): Promise<{ rows: number; bytes: number }> {
    const reply = await this.db.command({ collStats: 'log' });
    return { rows: Number(reply['count']), bytes: Number(reply['size']) };
  }

  async #find(filter: Document, options: { sort?: Document; limit: number; projection?: Document }) {
    const found = await this.#rows.find(filter, { ...options, ...MAJORITY, raw: true }).toArray();
    return found.map((bytes) => decodeRow(bytes as unknown as Uint8Array));
  }
}

/** Cuts rows into batches of at most 500 rows and 8 MiB; a larger row goes alone. */
export function* rowBatches(rows: readonly LogRow[]): Generator<LogRow[]> {
  let batch: LogRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = rowBytes(row);
    if (batch.length > 0 && (batch.length >= BATCH_ROWS || bytes + size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
