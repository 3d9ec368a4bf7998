/**
 * The transactions of runs: a separate session pool, so that long runs never block requests. Created for the first run
 * that needs one.
 */
import type { Registry } from '../../../collections/registry.ts';
import { Atomic } from '../../../collections/transaction-runner.ts';
import type { Mongo } from '../../../database/mongo.ts';
import { Transactions } from '../../../database/transactions.ts';

export class RunTransactions {
  readonly #mongo: Mongo;
  readonly #registry: Registry;
  #created: Promise<{ readonly atomic: Atomic; readonly transactions: Transactions }> | null = null;

  constructor(mongo: Mongo, registry: Registry) {
    this.#mongo = mongo;
    this.#registry = registry;
  }

  async atomic(): Promise<Atomic> {
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
    return { atomic: new Atomic(transactions, this.#registry), transactions };
  }
}
