/**
 * The transactions of runs: sessions of their own, so that runs, which may be long, never keep a request from its session. Made
 * when the first run needs one. Not here: transactions of requests (parts.ts).
 */
import { Atomic } from '../../../../collections/atomic.ts';
import type { Registry } from '../../../../collections/registry.ts';
import type { Mongo } from '../../../../database/mongo.ts';
import { Transactions } from '../../../../database/transactions.ts';

export class RunTransactions {
  readonly #mongo: Mongo;
  readonly #registry: Registry;
  #made: Promise<{ readonly atomic: Atomic; readonly transactions: Transactions }> | null = null;

  constructor(mongo: Mongo, registry: Registry) {
    this.#mongo = mongo;
    this.#registry = registry;
  }

  async atomic(): Promise<Atomic> {
    this.#made ??= this.#make().catch((error: unknown) => {
      this.#made = null;
      throw error;
    });
    return (await this.#made).atomic;
  }

  async stop(): Promise<void> {
    await (await this.#made?.catch(() => null))?.transactions.stop();
  }

  async #make() {
    const transactions = new Transactions(this.#mongo);
    await transactions.start();
    return { atomic: new Atomic(transactions, this.#registry), transactions };
  }
}
