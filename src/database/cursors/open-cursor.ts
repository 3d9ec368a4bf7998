/**
 * An open cursor of the server, read by commands. The driver's own cursor parses each document even if only its bytes
 * are needed, and that costs twice as much as the rest of a long list.
 */
import { type ClientSession, type Db, type Document, Long } from 'mongodb';
import type { CursorReply } from './cursor-reply.ts';

/** The number of documents in a first reply, while their size is unknown. */
export const FIRST_BATCH_SIZE = 16;
/**
 * The target size of a reply, in bytes. The server only accepts a number of documents, which is computed from the last
 * reply.
 */
export const REPLY_BYTES = 1_048_576;
/** A reply may have at most this many times the documents of the previous one. */
const GROWTH = 8;

export interface OpenCursorDeps {
  readonly db: Db;
  readonly collection: string;
  /** The session in which the cursor was opened: it can only be read in this session, which ends with the cursor. */
  readonly session: ClientSession;
  /** Maximum number of documents in one reply; fewer if they are large. */
  readonly batchSize: number;
  /** Sends a command in the session, and reads its reply. */
  readonly request: (command: Document) => Promise<CursorReply>;
}

export class OpenCursor {
  readonly #deps: OpenCursorDeps;
  #id: bigint;
  #batchSize: number;

  /**
   * @param id the cursor's id from the first reply; 0 at the end
   * @param first the first reply, to compute the size of the next ones
   */
  constructor(deps: OpenCursorDeps, id: bigint, first?: CursorReply) {
    this.#deps = deps;
    this.#id = id;
    this.#batchSize = first === undefined ? deps.batchSize : this.#after(first);
  }

  /** Whether the server has more documents. */
  get isOpen(): boolean {
    return this.#id !== 0n;
  }

  /** The documents after the first reply, in batches that are not empty. Throws the driver's errors. */
  async *rest(): AsyncGenerator<readonly Buffer[]> {
    const { collection, request } = this.#deps;
    try {
      while (this.#id !== 0n) {
        const command = { getMore: Long.fromBigInt(this.#id), collection, batchSize: this.#batchSize };
        const reply = await request(command);
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
    const most = this.#deps.batchSize;
    const last = entries.at(-1);
    if (last === undefined) return Math.min(most, FIRST_BATCH_SIZE);
    // The size of the last document counts as well as the average: it may be the first of many larger ones.
    const size = Math.max(last.length, bytes / entries.length);
    return Math.max(1, Math.min(most, Math.floor(REPLY_BYTES / size), entries.length * GROWTH));
  }

  /** Closes the cursor if it was not read to its end, and ends the session. */
  async close(): Promise<void> {
    const { db, collection, session } = this.#deps;
    if (this.#id !== 0n) {
      const command = { killCursors: collection, cursors: [Long.fromBigInt(this.#id)] };
      this.#id = 0n;
      // The server closes an unused cursor after a while, so it does not matter if this fails.
      await db.command(command, { session }).catch(() => undefined);
    }
    await session.endSession().catch(() => undefined);
  }
}
