/** Password hashes in `<db>_log`, whose changes are not events. Only this folder calls this file. */
import type { Collection } from 'mongodb';
import { duplicateKey, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

interface PasswordRow {
  /** Id of the user. */
  _id: string;
  /** PHC string. */
  hash: string;
  changedAt: Date;
}

export class PasswordStore {
  readonly #rows: Collection<PasswordRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<PasswordRow>('passwords');
  }

  async find(user: string): Promise<string | null> {
    return (await withTranslatedErrors(() => this.#rows.findOne({ _id: user })))?.hash ?? null;
  }

  async set(user: string, hash: string, changedAt: Date): Promise<void> {
    await withTranslatedErrors(() =>
      this.#rows.updateOne({ _id: user }, { $set: { hash, changedAt } }, { upsert: true }),
    );
  }

  /**
   * Replaces a hash.
   * @param before null for a user without a password
   * @returns false when the current hash is another one
   */
  async replace(user: string, before: string | null, hash: string, changedAt: Date): Promise<boolean> {
    return withTranslatedErrors(async () => {
      if (before !== null) {
        return (
          (await this.#rows.updateOne({ _id: user, hash: before }, { $set: { hash, changedAt } })).matchedCount === 1
        );
      }
      try {
        await this.#rows.insertOne({ _id: user, hash, changedAt });
        return true;
      } catch (error) {
        if (duplicateKey(error)) return false;
        throw error;
      }
    });
  }

  async remove(user: string): Promise<void> {
    await withTranslatedErrors(() => this.#rows.deleteOne({ _id: user }));
  }
}
