/**
 * Passkeys in `<db>_log.passkeys`, one document each. They are public keys, so nothing is encrypted. Only this folder
 * calls this file.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

export interface PasskeyRow {
  /** Id of the credential, base64url. */
  readonly _id: string;
  /** Id of the user. */
  readonly user: string;
  readonly name: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  readonly counter: number;
  readonly isSynced: boolean;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** One of as many numbers as a user can have passkeys. Missing in rows of earlier versions. */
  readonly slot?: number;
}

export type NewPasskey = Omit<PasskeyRow, 'slot'>;

/** Of one user. */
export const MAX_PASSKEYS_PER_USER = 20;

export class PasskeyStore {
  readonly #rows: Collection<PasskeyRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<PasskeyRow>('passkeys');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() =>
      this.#rows.createIndexes([
        { key: { user: 1, createdAt: 1 } },
        { key: { user: 1, slot: 1 }, unique: true, partialFilterExpression: { slot: { $exists: true } } },
      ]),
    );
  }

  find(id: string): Promise<PasskeyRow | null> {
    return withTranslatedErrors(() => this.#rows.findOne({ _id: id }));
  }

  /** Those of a user, oldest first. */
  listByUser(user: string): Promise<PasskeyRow[]> {
    return withTranslatedErrors(() => this.#rows.find({ user }).sort({ createdAt: 1, _id: 1 }).toArray());
  }

  /**
   * Stores a new one in a free slot. The unique index on slots enforces the limit when several are added at once.
   * @returns `exists` when there is one with this id, `full` when the user has as many as possible
   */
  insert(row: NewPasskey): Promise<'added' | 'exists' | 'full'> {
    return withTranslatedErrors(async () => {
      for (;;) {
        const slot = freeSlot(await this.listByUser(row.user));
        if (slot === null) return (await this.find(row._id)) === null ? 'full' : 'exists';
        try {
          await this.#rows.insertOne({ ...row, slot });
          return 'added';
        } catch (error) {
          const taken = duplicateKey(error);
          if (taken === undefined) throw error;
          if (!taken.fields.includes('slot')) return 'exists';
        }
      }
    });
  }

  /** Counts a use; false when another use came first, or it was removed. */
  async use({ _id, counter }: PasskeyRow, next: number, lastUsedAt: Date): Promise<boolean> {
    const { matchedCount } = await withTranslatedErrors(() =>
      this.#rows.updateOne({ _id, counter }, { $set: { counter: next, lastUsedAt } }),
    );
    return matchedCount === 1;
  }

  /** @returns the passkey with its new name; null when the user has none like this */
  rename(user: string, id: string, name: string): Promise<PasskeyRow | null> {
    return withTranslatedErrors(() =>
      this.#rows.findOneAndUpdate({ _id: id, user }, { $set: { name } }, { returnDocument: 'after' }),
    );
  }

  /** False when the user has none like this. */
  async remove(user: string, id: string): Promise<boolean> {
    return (await withTranslatedErrors(() => this.#rows.deleteOne({ _id: id, user }))).deletedCount === 1;
  }

  /** @returns how many there were */
  async removeAll(user: string): Promise<number> {
    return (await withTranslatedErrors(() => this.#rows.deleteMany({ user }))).deletedCount;
  }
}

/** The lowest free slot; rows of earlier versions, which have none, count as well. Null when there is none. */
function freeSlot(rows: readonly PasskeyRow[]): number | null {
  const used = new Set(rows.map(({ slot }) => slot));
  const most = MAX_PASSKEYS_PER_USER - rows.filter(({ slot }) => slot === undefined).length;
  for (let slot = 0; slot < most; slot++) if (!used.has(slot)) return slot;
  return null;
}
