/**
 * A cursor of the server read by commands: the driver's own takes each document apart only to hand out its bytes, twice
 * the work of everything else that a long list is. Not here: the question that opens it.
 */
import { type ClientSession, type Db, type Document, Long } from 'mongodb';
import type { CursorReply } from './cursor-reply.ts';

export interface CursorParts {
  readonly db: Db;
  readonly collection: string;
  /** The one it was opened in, in which alone it can be read. It ends with the cursor. */
  readonly session: ClientSession;
  /** Documents of one reply at most. */
  readonly batchSize: number;
  /** Sends a command in the session, and reads its reply. */
  readonly ask: (command: Document) => Promise<CursorReply>;
}

export class OpenCursor {
  readonly #parts: CursorParts;
  #id: bigint;

  /** @param id as the first reply says it; 0 where that was all */
  constructor(parts: CursorParts, id: bigint) {
    this.#parts = parts;
    this.#id = id;
  }

  /** The documents behind the first reply, in batches that are not empty. Throws the driver's errors. */
  async *rest(): AsyncGenerator<readonly Buffer[]> {
    const { collection, batchSize, ask } = this.#parts;
    try {
      while (this.#id !== 0n) {
        const { id, entries } = await ask({ getMore: Long.fromBigInt(this.#id), collection, batchSize });
        this.#id = id;
        if (entries.length > 0) yield entries;
      }
    } finally {
      await this.close();
    }
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
