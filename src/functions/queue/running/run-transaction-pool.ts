/**
 * The transactions of runs: a separate session pool, so that long runs never block requests. Created for the first run
 * that needs one.
 */
import type { CollectionRegistry } from '../../../collections/collection-registry.ts';
import { TransactionRunner } from '../../../collections/transaction-runner.ts';
import type { Mongo } from '../../../database/mongo.ts';
import { Transactions } from '../../../database/transactions.ts';

export class RunTransactions {
  readonly #mongo: Mongo;
  readonly #registry: CollectionRegistry;
  #created: Promise<{ readonly atomic: TransactionRunner; readonly transactions: Transactions }> | null = null;

  constructor(mongo: Mongo, registry: CollectionRegistry) {
    this.#mongo = mongo;
    this.#registry = registry;
  }

  async atomic(): Promise<TransactionRunner> {
    this.#created ??= this.#make().catch((error: unknown) => {
      this.#created = null;
      throw error;
    });
    return (await this.#created).atomic;
  }

  async stop(): Promise<void> {
    await (await this.#created?.catch(() => null))?.transactions.stop();
  }

  async #make() {
    const transactions = new Transactions(this.#mongo);
    await transactions.start();
    return { atomic: new TransactionRunner(transactions, this.#registry), transactions };
  }
}
