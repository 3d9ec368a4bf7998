/** Repeats a compare-and-replace of one document until no other writer comes first. */
import { setTimeout as pause } from 'node:timers/promises';
import { translated } from '../database/errors.ts';
import type { CollectionName } from '../database/names.ts';
import { KeyedQueues } from '../lib/concurrency/keyed-queue.ts';
import { tooBusy } from './document-errors.ts';
import type { Write } from './write-context.ts';

/** Attempts of a change before it fails because the document is too busy. */
export const ATTEMPTS = 8;

export class Attempts {
  readonly #queues = new KeyedQueues();

  /**
   * Repeats `attempt` while it answers undefined (another write came first), one writer of a document at a time. Inside
   * a transaction it does not wait for others: the whole transaction runs again.
   * @throws MillraceError `write-conflict` after too many attempts, and what the attempt throws
   */
  run<T>(name: CollectionName, id: string, write: Write, attempt: () => Promise<T | undefined>): Promise<T> {
    const repeat = async (): Promise<T> => {
      for (let attempts = 1; ; attempts++) {
        const result = await translated(attempt);
        if (result !== undefined) return result;
        if (attempts === ATTEMPTS || write.within) throw tooBusy(id);
        await pause(Math.random() * 2 ** attempts);
      }
    };
    return write.within ? repeat() : this.#queues.run(`${name}/${id}`, repeat);
  }
}
