/** Repeats a compare-and-replace of one document until no other writer comes first. */
import { setTimeout as pause } from 'node:timers/promises';
import { withTranslatedErrors } from '../database/errors.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';
import { KeyedQueues } from '../lib/concurrency/keyed-queue.ts';
import { documentTooBusy } from './document-errors.ts';
import type { WriteContext } from './write-context.ts';

/** Attempts of a change before it fails because the document is too busy. */
export const MAX_WRITE_ATTEMPTS = 8;

export class OptimisticRetry {
  readonly #queues = new KeyedQueues();

  /**
   * Repeats `attempt` while it answers undefined (another write came first), one writer of a document at a time. Inside
   * a transaction it does not wait for others: the whole transaction runs again.
   * @throws MillraceError `write-conflict` after too many attempts, and what the attempt throws
   */
  run<T>(name: CollectionName, id: string, write: WriteContext, attempt: () => Promise<T | undefined>): Promise<T> {
    const repeat = async (): Promise<T> => {
      for (let attempts = 1; ; attempts++) {
        const result = await withTranslatedErrors(attempt);
        if (result !== undefined) return result;
        if (attempts === MAX_WRITE_ATTEMPTS || write.within) throw documentTooBusy(id);
        await pause(Math.random() * 2 ** attempts);
      }
    };
    return write.within ? repeat() : this.#queues.run(`${name}/${id}`, repeat);
  }
}
