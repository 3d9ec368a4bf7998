/**
 * Second factors in `<db>_log.factors`, one document per user, with the seed encrypted and the recovery codes hashed.
 * What may happen only once is one atomic update. Only this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { Encryption } from '../../lib/encryption.ts';

/** The collection in `<db>_log`. */
const FACTORS = 'mfa_factors';

export interface FactorRow {
  /** Id of the user. */
  readonly _id: string;
  /** A seed that was shown and not yet confirmed. */
  readonly begun?: { readonly encrypted: string; readonly at: Date };
  /** The active seed, since when, and the last step of an accepted code. Missing before the first confirmation. */
  readonly encrypted?: string;
  readonly since?: Date;
  readonly step?: number;
  /** Hashes of the remaining recovery codes. */
  readonly codes?: readonly string[];
}

export class FactorStore {
  readonly #rows: Collection<FactorRow>;
  readonly #encryption: Encryption;

  constructor({ log }: Pick<Mongo, 'log'>, encryption: Encryption) {
    this.#rows = log.collection<FactorRow>(FACTORS);
    this.#encryption = encryption;
  }

  /** Encrypts with the newest master key whatever is stored otherwise. */
  async start(): Promise<void> {
    await withTranslatedErrors(async () => {
      for await (const { _id, encrypted, begun } of this.#rows.find()) {
        if (encrypted !== undefined && this.#encryption.isStale(encrypted)) {
          await this.#rows.updateOne(
            { _id, encrypted },
            { $set: { encrypted: this.encrypt(_id, this.open(_id, encrypted)) } },
          );
        }
        if (begun !== undefined && this.#encryption.isStale(begun.encrypted)) {
          const again = this.encrypt(_id, this.open(_id, begun.encrypted));
          await this.#rows.updateOne(
            { _id, 'begun.encrypted': begun.encrypted },
            { $set: { 'begun.encrypted': again } },
          );
        }
      }
    });
  }

  encrypt(user: string, seed: string): string {
    return this.#encryption.encrypt(seed, contextOf(user));
  }

  /** @throws DecryptionError */
  open(user: string, encrypted: string): string {
    return this.#encryption.open(encrypted, contextOf(user));
  }

  find(user: string): Promise<FactorRow | null> {
    return withTranslatedErrors(() => this.#rows.findOne({ _id: user }));
  }

  /** Stores a seed until it is confirmed, replacing a previous one; false when a factor is active. */
  begin(user: string, encrypted: string, at: Date): Promise<boolean> {
    return withTranslatedErrors(async () => {
      try {
        const only = { _id: user, since: { $exists: false } };
        await this.#rows.updateOne(only, { $set: { begun: { encrypted, at } } }, { upsert: true });
        return true;
      } catch (error) {
        if (duplicateKey(error)) return false;
        throw error;
      }
    });
  }

  /** Activates the pending seed; false when it is not the last pending one, or one is active. */
  async confirm(
    user: string,
    encrypted: string,
    step: number,
    codes: readonly string[],
    since: Date,
  ): Promise<boolean> {
    const { modifiedCount } = await withTranslatedErrors(() =>
      this.#rows.updateOne(
        { _id: user, 'begun.encrypted': encrypted, since: { $exists: false } },
        { $set: { encrypted, step, codes, since }, $unset: { begun: '' } },
      ),
    );
    return modifiedCount === 1;
  }

  /** Uses a step of the active seed up; false when it, or a later one, was used before. */
  async take(user: string, encrypted: string, step: number): Promise<boolean> {
    const { modifiedCount } = await withTranslatedErrors(() =>
      this.#rows.updateOne({ _id: user, encrypted, step: { $lt: step } }, { $set: { step } }),
    );
    return modifiedCount === 1;
  }

  /** Uses a recovery code up; null when there is none like this, else how many are left. */
  async useRecoveryCode(user: string, code: string): Promise<number | null> {
    const row = await withTranslatedErrors(() =>
      this.#rows.findOneAndUpdate(
        { _id: user, codes: code },
        { $pull: { codes: code } },
        { returnDocument: 'after', projection: { codes: 1 } },
      ),
    );
    return row?.codes?.length ?? null;
  }

  /** Replaces the recovery codes; false when no factor is active. */
  async setCodes(user: string, codes: readonly string[]): Promise<boolean> {
    const { matchedCount } = await withTranslatedErrors(() =>
      this.#rows.updateOne({ _id: user, since: { $exists: true } }, { $set: { codes } }),
    );
    return matchedCount === 1;
  }

  /** Removes the factor of a user; false when no factor was active. */
  async removeAll(user: string): Promise<boolean> {
    return (await withTranslatedErrors(() => this.#rows.findOneAndDelete({ _id: user })))?.since !== undefined;
  }
}

/** The context of the encryption: a seed decrypts for no other user. */
function contextOf(user: string): string {
  return `second factor of ${user}`;
}
