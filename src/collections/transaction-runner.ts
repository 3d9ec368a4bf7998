/**
 * Runs several writes as one transaction, with its state while it is open. Bulk creates, writes by filter, batches and
 * writes with an idempotency key need one; other single writes do not.
 */
import type { CollectionName } from '../database/parse-collection-name.ts';
import type { Transactions } from '../database/transactions.ts';
import { Semaphore } from '../lib/concurrency/semaphore.ts';
import type { QuotaReservation } from '../quotas/quotas.ts';
import type { CollectionRegistry } from './collection-registry.ts';
import type { TransactionContext } from './open-transaction.ts';

/**
 * Large transactions run one at a time: each holds its documents several times in memory here, and takes a good part of
 * the database's cache. At most this many wait; more are rejected.
 */
const LARGE_WAITING = 16;

export class TransactionRunner {
  readonly #transactions: Transactions;
  readonly #registry: CollectionRegistry;
  readonly #largeTurn = new Semaphore(1, LARGE_WAITING);

  constructor(transactions: Transactions, registry: CollectionRegistry) {
    this.#transactions = transactions;
    this.#registry = registry;
  }

  /**
   * Runs `work` in a transaction. After a temporary conflict all of `work` runs again, so a repetition must be
   * harmless.
   * @param within the transaction that is already open, if any: then `work` becomes part of it
   * @throws MillraceError `overloaded` when the transaction is large and too many large ones are waiting
   */
  async run<T>(work: (within: TransactionContext) => Promise<T>, within?: TransactionContext): Promise<T> {
    if (within !== undefined) return work(within);
    let needsTurn = false;
    const noticed = async (open: TransactionContext): Promise<T> => {
      try {
        return await work(open);
      } finally {
        needsTurn ||= open.needsLargeLock;
      }
    };
    try {
      return await this.#transact(noticed, false);
    } catch (error) {
      if (!needsTurn) throw error;
    }
    // A large transaction waits here without a session and before it is opened, so small ones continue meanwhile.
    return this.#largeTurn.run(() => this.#transact(work, true));
  }

  async #transact<T>(work: (within: TransactionContext) => Promise<T>, large: boolean): Promise<T> {
    const created = new Set<CollectionName>();
    const unprepared = new Set<CollectionName>();
    const holds: QuotaReservation[] = [];
    const release = () => {
      for (const hold of holds.splice(0)) hold.release();
    };
    const run = this.#transactions.run(async (session) => {
      created.clear();
      release();
      // The transaction has sent nothing to the database yet, so it holds no lock that this step would wait for.
      for (const name of unprepared) await this.#registry.ensure(name);
      return work({ session, created, unprepared, holds, changedDocuments: 0, bytes: 0, large, needsLargeLock: false });
    });
    const result = await run.catch((error: unknown) => {
      release();
      throw error;
    });
    for (const name of created) this.#registry.rememberExisting(name);
    return result;
  }
}
