/**
 * Where passkeys are kept: `<db>_log.passkeys`, one document each. What is kept is public, so nothing is sealed. Only this
 * folder calls this file.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

export interface PasskeyRow {
  /** Id of the credential, base64url. */
  readonly _id: string;
  /** Id of the account. */
  readonly user: string;
  readonly name: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  readonly counter: number;
  readonly isSynced: boolean;
  readonly createdAt: Date;
  readonly usedAt: Date | null;
}

export class PasskeyStore {
  readonly #rows: Collection<PasskeyRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<PasskeyRow>('passkeys');
  }

  async start(): Promise<void> {
    await translated(() => this.#rows.createIndex({ user: 1, createdAt: 1 }));
  }

  find(id: string): Promise<PasskeyRow | null> {
    return translated(() => this.#rows.findOne({ _id: id }));
  }

  /** Those of an account, the oldest first. */
  of(user: string): Promise<PasskeyRow[]> {
    return translated(() => this.#rows.find({ user }).sort({ createdAt: 1, _id: 1 }).toArray());
  }

  /** Keeps a new one; false when there is one with this id. */
  insert(row: PasskeyRow): Promise<boolean> {
    return translated(async () => {
      try {
        await this.#rows.insertOne({ ...row });
        return true;
      } catch (error) {
        if (duplicateKey(error)) return false;
        throw error;
      }
    });
  }

  /** Counts a use; false when another use has come between, or it was removed. */
  async use({ _id, counter }: PasskeyRow, next: number, usedAt: Date): Promise<boolean> {
    const { matchedCount } = await translated(() =>
      this.#rows.updateOne({ _id, counter }, { $set: { counter: next, usedAt } }),
    );
    return matchedCount === 1;
  }

  /** @returns the passkey with its new name; null when the account has none like this */
  rename(user: string, id: string, name: string): Promise<PasskeyRow | null> {
    return translated(() =>
      this.#rows.findOneAndUpdate({ _id: id, user }, { $set: { name } }, { returnDocument: 'after' }),
    );
  }

  /** False when the account has none like this. */
  async remove(user: string, id: string): Promise<boolean> {
    return (await translated(() => this.#rows.deleteOne({ _id: id, user }))).deletedCount === 1;
  }

  /** @returns how many there were */
  async removeAll(user: string): Promise<number> {
    return (await translated(() => this.#rows.deleteMany({ user }))).deletedCount;
  }
}
