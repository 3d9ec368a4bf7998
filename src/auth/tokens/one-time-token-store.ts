/**
 * Where single-use secrets are kept: `<db>_log.one_time_tokens`, hashed, until they expire. Each is taken by one atomic
 * delete, so it works once, however many requests try at the same time. Only this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

export interface OneTimeTokenRow {
  /** SHA-256 of the secret, base64url. */
  readonly _id: string;
  readonly purpose: string;
  /** The user or principal that it is for; null for none. */
  readonly subject: string | null;
  /** Further facts, as JSON. */
  readonly facts: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export class OneTimeTokenStore {
  readonly #rows: Collection<OneTimeTokenRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<OneTimeTokenRow>('one_time_tokens');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() =>
      this.#rows.createIndexes([{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }, { key: { purpose: 1, subject: 1 } }]),
    );
  }

  async insert(row: OneTimeTokenRow): Promise<void> {
    await withTranslatedErrors(() => this.#rows.insertOne({ ...row }));
  }

  /** Uses a secret up: only one caller gets it. */
  take(id: string, purpose: string, now: Date): Promise<OneTimeTokenRow | null> {
    return withTranslatedErrors(() => this.#rows.findOneAndDelete({ _id: id, purpose, expiresAt: { $gt: now } }));
  }

  find(id: string, purpose: string, now: Date): Promise<OneTimeTokenRow | null> {
    return withTranslatedErrors(() => this.#rows.findOne({ _id: id, purpose, expiresAt: { $gt: now } }));
  }

  async removeAll(purpose: string, subject: string | null): Promise<void> {
    await withTranslatedErrors(() => this.#rows.deleteMany({ purpose, subject }));
  }

  async removeOf(purposes: readonly string[], subjects: readonly string[]): Promise<void> {
    const filter = { purpose: { $in: [...purposes] }, subject: { $in: [...subjects] } };
    await withTranslatedErrors(() => this.#rows.deleteMany(filter));
  }

  /** Reserves a name; false while it is reserved already. */
  async reserve(name: string, now: Date, expiresAt: Date): Promise<boolean> {
    const facts = { purpose: 'held', subject: null, facts: '{}', createdAt: now, expiresAt };
    return withTranslatedErrors(async () => {
      try {
        await this.#rows.updateOne({ _id: name, expiresAt: { $lte: now } }, { $set: facts }, { upsert: true });
        return true;
      } catch (error) {
        if (duplicateKey(error)) return false;
        throw error;
      }
    });
  }
}
