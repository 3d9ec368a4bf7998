/**
 * Stores files in MongoDB, in the GridFS bucket of `<db>_files`. Written with the driver's GridFSBucket, so every GridFS tool can
 * read it; read chunk by chunk here, because the driver's read stream prefetches up to 16 MB for each reader, and this one two
 * chunks.
 */
import { addAbortSignal, Readable } from 'node:stream';
import { type Collection, type Db, GridFSBucket, type GridFSFile, ObjectId } from 'mongodb';
import type { ByteRange, FileKey, FileStore } from './file-store.ts';
import { storeUnavailable } from './file-store.ts';

const BUCKET = 'files';
/** 1 MiB: a quarter of the round trips of GridFS' usual 255 KiB, and still small compared with a document's 16 MB. */
const CHUNK_BYTES = 1_048_576;
const READ_AHEAD = 2;

interface Chunk {
  files_id: ObjectId;
  n: number;
  data: Buffer;
}

/** Opens the store; its collections are created with the first file. */
export function createGridfsStore(files: Db): FileStore {
  return new GridfsStore(files);
}

class GridfsStore implements FileStore {
  readonly name = 'gridfs';
  readonly #db: Db;
  readonly #bucket: GridFSBucket;
  readonly #heads: Collection<GridFSFile>;
  readonly #chunks: Collection<Chunk>;

  constructor(files: Db) {
    this.#db = files;
    this.#bucket = new GridFSBucket(files, { bucketName: BUCKET, chunkSizeBytes: CHUNK_BYTES });
    this.#heads = files.collection<GridFSFile>(`${BUCKET}.files`);
    this.#chunks = files.collection<Chunk>(`${BUCKET}.chunks`);
  }

  /** Each step is awaited, also after an abort: an insert in flight could arrive after `remove`. */
  async write(key: FileKey, source: Readable, signal: AbortSignal): Promise<void> {
    const target = this.#bucket.openUploadStreamWithId(new ObjectId(key), key);
    target.on('error', () => undefined);
    try {
      for await (const chunk of addAbortSignal(signal, source)) await step((done) => target.write(chunk, done));
      await step((done) => target.end(done));
      signal.throwIfAborted();
    } catch (error) {
      target.destroy();
      throw signal.aborted ? signal.reason : error;
    }
  }

  async read(key: FileKey, size: number, range: ByteRange = { start: 0, end: size - 1 }): Promise<Readable> {
    const id = new ObjectId(key);
    const head = await storing(() => this.#heads.findOne({ _id: id }));
    if (head?.length !== size) throw storeUnavailable(new Error(`GridFS has no file ${key} of ${size} bytes`));
    return Readable.from(this.#bytes(head, range), { objectMode: false, highWaterMark: 65_536 });
  }

  async *#bytes({ _id, chunkSize }: GridFSFile, { start, end }: ByteRange): AsyncGenerator<Buffer> {
    let n = Math.floor(start / chunkSize);
    const last = Math.floor(end / chunkSize);
    const cursor = this.#chunks.find(
      { files_id: _id, n: { $gte: n, $lte: last } },
      { sort: { n: 1 }, batchSize: READ_AHEAD, promoteBuffers: true },
    );
    try {
      for (; n <= last; n++) {
        const chunk = await storing(() => cursor.next());
        const requested = Math.min(end + 1 - n * chunkSize, chunkSize);
        if (chunk?.n !== n || chunk.data.length < requested) {
          throw storeUnavailable(new Error(`Chunk ${n} of file ${_id.toHexString()} is missing or short`));
        }
        yield chunk.data.subarray(Math.max(0, start - n * chunkSize), requested);
      }
    } finally {
      await cursor.close();
    }
  }

  async remove(key: FileKey): Promise<void> {
    const id = new ObjectId(key);
    await storing(() => this.#heads.deleteOne({ _id: id }));
    await storing(() => this.#chunks.deleteMany({ files_id: id }));
  }

  async check(): Promise<void> {
    await storing(() => this.#db.command({ ping: 1 }));
  }

  /** Nothing to close: the caller owns the database connection. */
  async close(): Promise<void> {}
}

type Done = (error?: Error | null) => void;

function step(start: (done: Done) => void): Promise<void> {
  return storing(() => new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve()))));
}

async function storing<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw storeUnavailable(error);
  }
}
