/**
 * Where second factors are kept: `<db>_log.factors`, one document per account, with the seed sealed and the recovery codes
 * hashed. What may happen once happens by one atomic update. Only this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { Sealer } from '../../kernel/sealer.ts';

/** The collection in `<db>_log`. */
const FACTORS = 'factors';

export interface FactorRow {
  /** Id of the account. */
  readonly _id: string;
  /** A seed that was shown and not yet confirmed. */
  readonly begun?: { readonly sealed: string; readonly at: Date };
  /** The seed in force, since when, and the last step of which a code was taken. Missing before the first confirmation. */
  readonly sealed?: string;
  readonly since?: Date;
  readonly step?: number;
  /** Hashes of the recovery codes that are left. */
  readonly codes?: readonly string[];
}

export class FactorStore {
  readonly #rows: Collection<FactorRow>;
  readonly #sealer: Sealer;

  constructor({ log }: Pick<Mongo, 'log'>, sealer: Sealer) {
    this.#rows = log.collection<FactorRow>(FACTORS);
    this.#sealer = sealer;
  }

  /** Seals with the newest master key what is sealed otherwise. */
  async start(): Promise<void> {
    await translated(async () => {
      for await (const { _id, sealed, begun } of this.#rows.find()) {
        if (sealed !== undefined && this.#sealer.isStale(sealed)) {
          await this.#rows.updateOne({ _id, sealed }, { $set: { sealed: this.seal(_id, this.open(_id, sealed)) } });
        }
        if (begun !== undefined && this.#sealer.isStale(begun.sealed)) {
          const again = this.seal(_id, this.open(_id, begun.sealed));
          await this.#rows.updateOne({ _id, 'begun.sealed': begun.sealed }, { $set: { 'begun.sealed': again } });
        }
      }
    });
  }

  seal(user: string, seed: string): string {
    return this.#sealer.seal(seed, contextOf(user));
  }

  /** @throws SealBroken */
  open(user: string, sealed: string): string {
    return this.#sealer.open(sealed, contextOf(user));
  }

  find(user: string): Promise<FactorRow | null> {
    return translated(() => this.#rows.findOne({ _id: user }));
  }

  /** Keeps a seed until it is confirmed, in the place of one before; false when a factor is in force. */
  begin(user: string, sealed: string, at: Date): Promise<boolean> {
    return translated(async () => {
      try {
        const only = { _id: user, since: { $exists: false } };
        await this.#rows.updateOne(only, { $set: { begun: { sealed, at } } }, { upsert: true });
        return true;
      } catch (error) {
        if (duplicateKey(error)) return false;
        throw error;
      }
    });
  }

  /** Puts the seed that was begun in force; false when it is not the one that was begun last, or one is in force. */
  async confirm(user: string, sealed: string, step: number, codes: readonly string[], since: Date): Promise<boolean> {
    const { modifiedCount } = await translated(() =>
      this.#rows.updateOne(
        { _id: user, 'begun.sealed': sealed, since: { $exists: false } },
        { $set: { sealed, step, codes, since }, $unset: { begun: '' } },
      ),
    );
    return modifiedCount === 1;
  }

  /** Takes a step of the seed in force; false when it, or a later one, was taken before. */
  async take(user: string, sealed: string, step: number): Promise<boolean> {
    const { modifiedCount } = await translated(() =>
      this.#rows.updateOne({ _id: user, sealed, step: { $lt: step } }, { $set: { step } }),
    );
    return modifiedCount === 1;
  }

  /** Uses a recovery code up; null when there is none like this, else how many are left. */
  async takeCode(user: string, code: string): Promise<number | null> {
    const row = await translated(() =>
      this.#rows.findOneAndUpdate(
        { _id: user, codes: code },
        { $pull: { codes: code } },
        { returnDocument: 'after', projection: { codes: 1 } },
      ),
    );
    return row?.codes?.length ?? null;
  }

  /** Puts other recovery codes in the place of those before; false when no factor is in force. */
  async setCodes(user: string, codes: readonly string[]): Promise<boolean> {
    const { matchedCount } = await translated(() =>
      this.#rows.updateOne({ _id: user, since: { $exists: true } }, { $set: { codes } }),
    );
    return matchedCount === 1;
  }

  /** Removes what an account has; false when no factor was in force. */
  async removeAll(user: string): Promise<boolean> {
    return (await translated(() => this.#rows.findOneAndDelete({ _id: user })))?.since !== undefined;
  }
}

/** What a seed is sealed for: it opens for no other account. */
function contextOf(user: string): string {
  return `second factor of ${user}`;
}
