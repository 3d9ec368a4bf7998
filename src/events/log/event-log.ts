/**
 * The durable log: rows with gapless numbers in one clustered collection of `<db>_log`. It also stores a resume token
 * for idle times, and the floor: rows below it are deleted or about to be. Appending is compare-and-set by the unique
 * number, so two processes cannot append the same one.
 */
import type { Binary, Collection, CollectionInfo, Db, Document } from 'mongodb';
import { encodedDocuments } from '../../database/encoded-documents.ts';
import { MONGO_ERROR_CODES, mongoErrorCode } from '../../database/errors.ts';
import { UnusableDatabase } from '../../database/startup-error.ts';
import { withTimeout } from '../../lib/concurrency/deadline.ts';
import {
  decodeLogRow,
  encodedBatches,
  encodeLogRow,
  LOG_ROW_DEFAULTS,
  type LogRow,
  logRowBytes,
  rowBytesWithDocument,
} from './log-row.ts';

const READ_BYTES = 16 * 1024 * 1024;
const RESPONSE_MS = 10_000;
const MAJORITY = { readConcern: { level: 'majority' } } as const;

interface Named extends Document {
  _id: string;
}

/** The stored log is unusable; a retry does not help. */
export class UnusableLog extends UnusableDatabase {}

/** Another recorder was faster and has used the numbers. */
export class LogNumberConflict extends Error {
  override readonly name = 'LogNumberConflict';
}

export class EventLog {
  readonly db: Db;
  readonly #rows: Collection<Document>;
  readonly #mark: Collection<Named>;
  readonly #floor: Collection<Named>;
  readonly #database: string;
  /** The UUID of the collection that rows are appended to; undefined until it has been read. */
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

  /** Creates missing collections. Throws UnusableLog if this is the log of another database. */
  async open(): Promise<void> {
    await this.db
      .createCollection('log', { clusteredIndex: { key: { _id: 1 }, unique: true } })
      .catch((error: unknown) => {
        if (mongoErrorCode(error) !== MONGO_ERROR_CODES.namespaceExists) throw error;
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
          'Restore the right one, or drop it to start a new history.',
      );
    }
  }

  /** The newest row without its bodies, or null if the log is empty. */
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
   * Rows above a number, in order, up to a count and up to a number of bytes. They start higher if older rows have been
   * deleted. They never start below the floor, even if a late recorder has put old rows back.
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
      const row = decodeLogRow(stored as unknown as Uint8Array);
      rows.push(row);
      bytes += logRowBytes(row);
      if (bytes > maxBytes) break;
    }
    // The floor is read after the rows: rows that are deleted in between are below the floor that is read here.
    const floor = await this.floor();
    return rows.filter((row) => row.number >= floor);
  }

  /**
   * Rows of some collections in order, with the rows that concern all collections and the ends of transactions. The
   * server filters out the others.
   * @returns also the number of the last examined row; null if rows in between no longer exist
   */
  async about(requested: {
    readonly after: number;
    readonly through: number;
    readonly collections: readonly string[];
    readonly limit: number;
    /** Size in bytes at which it stops. */
    readonly maxBytes?: number;
  }): Promise<{ readonly rows: readonly LogRow[]; readonly through: number } | null> {
    const { after, through, collections, limit, maxBytes = READ_BYTES } = requested;
    // A pattern such as `fs.*` also means the collection `fs.files` of other programs. System collections (`_…`) have
    // none below them.
    const below = collections.filter((name) => !name.startsWith('_')).map((name) => new RegExp(`^${name}\\.`));
    const names = { $in: [...collections, ...below] };
    const concerns = [{ c: names }, { to: names }, { op: { $in: ['gap', 'dropDatabase'] } }, { 'x.z': true }];
    const filter = { _id: { $gt: after, $lte: through }, $or: concerns } as Document;
    const rows: LogRow[] = [];
    let bytes = 0;
    let whole = true;
    for await (const stored of this.#rows.find(filter, { sort: { _id: 1 }, limit, ...MAJORITY, raw: true })) {
      const row = decodeLogRow(stored as unknown as Uint8Array);
      rows.push(row);
      bytes += rowBytesWithDocument(row);
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
   * Creates the very first row, in an epoch that no earlier log of this database had. Throws NumbersTaken if there is a
   * row already.
   * @param above an epoch that no earlier one reached, for a database that does not know its earlier epochs
   */
  async begin(start: Pick<LogRow, 'token' | 'time'>, above: number): Promise<void> {
    const known = await this.#floor.findOne({ _id: 'log' });
    const epoch = await this.nextEpoch(known?.['epoch'] === undefined ? above : 0);
    // A dropped log leaves its floor, which would hide the new rows.
    await this.#floor.updateOne({ _id: 'log' }, { $set: { floor: 0 } });
    const row: LogRow = { ...LOG_ROW_DEFAULTS, ...start, number: 1, epoch, wall: new Date(), operation: 'start' };
    await this.#insert([{ ...encodeLogRow(row), db: this.#database }]);
  }

  /** An unused epoch above the given one. */
  async nextEpoch(above: number): Promise<number> {
    const floor = await this.#floor.findOneAndUpdate(
      { _id: 'log' },
      [{ $set: { epoch: { $add: [{ $max: ['$epoch', above] }, 1] } } }],
      { returnDocument: 'after' },
    );
    return Number(floor?.['epoch'] ?? above + 1);
  }

  /**
   * Appends rows in batches, one after the other, each acknowledged by a majority before the next one is sent.
   * @param allowed called before every batch; if it returns false the rest is not written
   * @param written called with every acknowledged batch
   * @throws LogNumberConflict if a number exists; after any other error it is unknown how much was written
   */
  async append(
    rows: readonly LogRow[],
    allowed: () => boolean,
    written: (rows: readonly LogRow[]) => void,
  ): Promise<void> {
    const batches = encodedBatches(rows);
    for (let batch = batches.next().value; batch; ) {
      if (!allowed()) throw new LogNumberConflict('The lease is lost');
      const sent = this.#insert(encodedDocuments(batch.bytes));
      // Encoded while the server works.
      const following = batches.next().value;
      await sent;
      written(batch.rows);
      batch = following;
    }
  }

  async #insert(documents: object): Promise<void> {
    // The driver never retries a plain command, unlike insertMany with retryable writes. It names the collection's
    // UUID, so it fails if the collection was dropped; otherwise the server would create a new one without the
    // clustered index.
    const which = this.#uuid === undefined ? {} : { collectionUUID: this.#uuid };
    const command = { insert: 'log', documents, ordered: true, ...which, writeConcern: { w: 'majority' } };
    const reply = await withTimeout(RESPONSE_MS, (signal) => this.db.command(command, { signal }));
    const issue = reply['writeErrors']?.[0];
    if (issue?.code === MONGO_ERROR_CODES.duplicateKey) throw new LogNumberConflict('A row with this number exists');
    if (issue?.code === MONGO_ERROR_CODES.otherCollection) throw new Error('The collection of the log was dropped');
    if (issue) throw Object.assign(new Error(String(issue.errmsg)), { code: issue.code, index: issue.index });
    if (reply['writeConcernError']) throw new Error(String(reply['writeConcernError'].errmsg));
  }

  /** The newest token up to which no row follows the given row: the stored one, or the row's own. */
  async mark(row: Pick<LogRow, 'number' | 'token'>): Promise<string> {
    const mark = await this.#mark.findOne({ _id: 'log', after: row.number });
    const token: unknown = mark?.['token'];
    return typeof token === 'string' && token > row.token ? token : row.token;
  }

  /** Stores that no change up to this token makes a row after the given one. */
  async setMark(after: number, token: string): Promise<void> {
    await this.#mark.updateOne({ _id: 'log' }, { $set: { after, token } }, { upsert: true });
  }

  /** The floor. Rows below this number are ignored, even if they still exist. */
  async floor(): Promise<number> {
    const floor = await this.#floor.findOne({ _id: 'log' }, MAJORITY);
    return Number(floor?.['floor'] ?? 0);
  }

  /** Raises the floor. Only after that may rows below it be deleted. */
  async raiseFloor(floor: number): Promise<void> {
    await this.#floor.updateOne({ _id: 'log' }, { $max: { floor } }, { writeConcern: { w: 'majority' } });
  }

  /** Deletes rows below a number, up to a count. Returns how many were deleted. */
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

  /** The replica set on which the log was written; null if unknown. */
  async origin(): Promise<string | null> {
    const floor = await this.#floor.findOne({ _id: 'log' });
    return typeof floor?.['set'] === 'string' ? floor['set'] : null;
  }

  async setOrigin(set: string): Promise<void> {
    await this.#floor.updateOne({ _id: 'log' }, { $set: { set } });
  }

  /** The time of the database's clock. */
  async now(): Promise<Date> {
    return (await this.db.command({ hello: 1 }))['localTime'];
  }

  /** The number and size of rows, as the server estimates them. */
  async size(): Promise<{ rows: number; bytes: number }> {
    const reply = await this.db.command({ collStats: 'log' });
    return { rows: Number(reply['count']), bytes: Number(reply['size']) };
  }

  async #find(filter: Document, options: { sort?: Document; limit: number; projection?: Document }) {
    const found = await this.#rows.find(filter, { ...options, ...MAJORITY, raw: true }).toArray();
    return found.map((bytes) => decodeLogRow(bytes as unknown as Uint8Array));
  }
}
