/**
 * Repeats a compare-and-replace of one document until no other writer comes first. Not here: what one attempt does
 * (collections.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { translated } from '../database/errors.ts';
import type { CollectionName } from '../database/names.ts';
import { KeyedQueues } from '../kernel/concurrency/queues.ts';
import { tooBusy } from './refusals.ts';
import type { Write } from './write.ts';

/** How often a change is computed anew before it is refused because the document is too busy. */
export const ATTEMPTS = 8;

export class Attempts {
  readonly #queues = new KeyedQueues();

  /**
   * Repeats `attempt` while it answers undefined (another write came first), one writer of a document at a time. Inside
   * a transaction it does not wait for others: the whole transaction runs again.
   * @throws MillraceError `contention` after too many attempts, and what the attempt throws
   */
  run<T>(name: CollectionName, id: string, write: Write, attempt: () => Promise<T | undefined>): Promise<T> {
    const repeat = async (): Promise<T> => {
      for (let tries = 1; ; tries++) {
        const result = await translated(attempt);
        if (result !== undefined) return result;
        if (tries === ATTEMPTS || write.within) throw tooBusy(id);
        await pause(Math.random() * 2 ** tries);
      }
    };
    return write.within ? repeat() : this.#queues.run(`${name}/${id}`, repeat);
  }
}
