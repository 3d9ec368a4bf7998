/**
 * An open cursor of the server, read by commands. The driver's own cursor parses each document even if only its bytes
 * are wanted, and that costs twice as much as the rest of a long list. Not here: the query that opens the cursor.
 */
import { type ClientSession, type Db, type Document, Long } from 'mongodb';
import type { CursorReply } from './cursor-reply.ts';

/** The number of documents in a first reply, while their size is not known. */
export const FIRST_BATCH = 16;
/**
 * The wanted size of a reply, in bytes. The server only takes a number of documents, which is computed from the last
 * reply.
 */
export const REPLY_BYTES = 1_048_576;
/** A reply may hold so many times as many documents as the reply before it. */
const GROWTH = 8;

export interface CursorParts {
  readonly db: Db;
  readonly collection: string;
  /** The session in which the cursor was opened: it can only be read in this session. It ends with the cursor. */
  readonly session: ClientSession;
  /** The most documents of one reply; fewer if they are large. */
  readonly batchSize: number;
  /** Sends a command in the session, and reads its reply. */
  readonly ask: (command: Document) => Promise<CursorReply>;
}

export class OpenCursor {
  readonly #parts: CursorParts;
  #id: bigint;
  #batchSize: number;

  /**
   * @param id the cursor's id from the first reply; 0 when there is no more
   * @param first the first reply, if the size of the next ones shall be computed from it
   */
  constructor(parts: CursorParts, id: bigint, first?: CursorReply) {
    this.#parts = parts;
    this.#id = id;
    this.#batchSize = first === undefined ? parts.batchSize : this.#after(first);
  }

  /** Whether the server has more documents. */
  get isOpen(): boolean {
    return this.#id !== 0n;
  }

  /** The documents after the first reply, in batches that are not empty. Throws the driver's errors. */
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

  /** How many documents the next reply may hold. */
  #after({ entries, bytes }: CursorReply): number {
    const most = this.#parts.batchSize;
    const last = entries.at(-1);
    if (last === undefined) return Math.min(most, FIRST_BATCH);
    // The size of the last document counts as well as the average: it may be the first of many larger ones.
    const size = Math.max(last.length, bytes / entries.length);
    return Math.max(1, Math.min(most, Math.floor(REPLY_BYTES / size), entries.length * GROWTH));
  }

  /** Closes the cursor if it was not read to its end, and ends the session. */
  async close(): Promise<void> {
    const { db, collection, session } = this.#parts;
    if (this.#id !== 0n) {
      const command = { killCursors: collection, cursors: [Long.fromBigInt(this.#id)] };
      this.#id = 0n;
      // The server closes an unused cursor by itself after a while, so it does not matter if this fails.
      await db.command(command, { session }).catch(() => undefined);
    }
    await session.endSession().catch(() => undefined);
  }
}
