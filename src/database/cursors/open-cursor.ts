/**
 * A cursor of the server, read by commands. The driver's own cursor parses each document only to return its bytes,
 * which is twice the work of everything else in a long list. Not here: the query that opens it.
 */
import { type ClientSession, type Db, type Document, Long } from 'mongodb';
import type { CursorReply } from './cursor-reply.ts';

/** Documents of a first reply, while nothing is known of their size. */
export const FIRST_BATCH = 16;
/**
 * What a reply should hold, in bytes. The server counts documents, so the last reply tells how many the next may be.
 */
const REPLY_BYTES = 1_048_576;
/** How many times as many documents as the last one a reply may hold. */
const GROWTH = 8;

export interface CursorParts {
  readonly db: Db;
  readonly collection: string;
  /** The one it was opened in, in which alone it can be read. It ends with the cursor. */
  readonly session: ClientSession;
  /** Documents of one reply at most: fewer where they are large. */
  readonly batchSize: number;
  /** Sends a command in the session, and reads its reply. */
  readonly ask: (command: Document) => Promise<CursorReply>;
}

export class OpenCursor {
  readonly #parts: CursorParts;
  #id: bigint;
  #batchSize: number;

  /**
   * @param id as the first reply says it; 0 where that was all
   * @param first the first reply, where the next ones shall be measured by it
   */
  constructor(parts: CursorParts, id: bigint, first?: CursorReply) {
    this.#parts = parts;
    this.#id = id;
    this.#batchSize = first === undefined ? parts.batchSize : this.#after(first);
  }

  /** The documents behind the first reply, in batches that are not empty. Throws the driver's errors. */
  async *rest(): AsyncGenerator<readonly Buffer[]> {
    const { collection, ask } = this.#parts;
    try {
      while (this.#id !== 0n) {
        const command = { getMore: Long.fromBigInt(this.#id), collection, batchSize: this.#batchSize };
        const reply = await ask(command);
        const { id, entries } = reply;
        this.#id = id;
        this.#batchSize = this.#after(reply);
        if (entries.length > 0) yield entries;
      }
    } finally {
      await this.close();
    }
  }

  /** How many documents the reply after this one may hold. */
  #after({ entries, bytes }: CursorReply): number {
    const most = this.#parts.batchSize;
    const last = entries.at(-1);
    if (last === undefined) return Math.min(most, FIRST_BATCH);
    // The last one counts by itself: it may be the first of many that are larger.
    const size = Math.max(last.length, bytes / entries.length);
    return Math.max(1, Math.min(most, Math.floor(REPLY_BYTES / size), entries.length * GROWTH));
  }

  /** Gives the cursor back, when it was not read to its end, and the session. */
  async close(): Promise<void> {
    const { db, collection, session } = this.#parts;
    if (this.#id !== 0n) {
      const command = { killCursors: collection, cursors: [Long.fromBigInt(this.#id)] };
      this.#id = 0n;
      // The server forgets a cursor by itself; a failure to say so changes nothing.
      await db.command(command, { session }).catch(() => undefined);
    }
    await session.endSession().catch(() => undefined);
  }
}
