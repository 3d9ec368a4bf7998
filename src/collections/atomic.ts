/**
 * Several writes as one: a transaction, and what has to be remembered while it is open. Single writes need none; bulk
 * creates, writes by filter, batches and keyed writes do. Not here: sessions and their leases (database/transactions).
 */
import type { CollectionName } from '../database/names.ts';
import type { Transactions } from '../database/transactions.ts';
import type { OpenTransaction } from './open-transaction.ts';
import type { Registry } from './registry.ts';

export class Atomic {
  readonly #transactions: Transactions;
  readonly #registry: Registry;

  constructor(transactions: Transactions, registry: Registry) {
    this.#transactions = transactions;
    this.#registry = registry;
  }

  /**
   * Runs `work` in a transaction; the whole of it again when it met a passing conflict, so that `work` must do nothing
   * that a second run would do twice.
   * @param within the transaction that is open already, if any: then `work` becomes a part of it
   */
  async run<T>(work: (within: OpenTransaction) => Promise<T>, within?: OpenTransaction): Promise<T> {
    if (within !== undefined) return work(within);
    const made = new Set<CollectionName>();
    const unprepared = new Set<CollectionName>();
    const result = await this.#transactions.run(async (session) => {
      made.clear();
      // Nothing has been asked of the database yet, so that the transaction holds no lock that this would wait for.
      for (const name of unprepared) await this.#registry.ensure(name);
      return work({ session, made, unprepared, touched: 0, bytes: 0 });
    });
    for (const name of made) this.#registry.learn(name);
    return result;
  }
}
