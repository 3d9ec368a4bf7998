/**
 * API keys in `_keys` of `<db>`, whose changes are events, and in `<db>_log` for each the hash of its secret and its
 * last use. Only this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { type ChangeStamp, ensureSystemCollection, stampDeletion } from '../../database/system-collection.ts';
import type { ApiKey } from './api-key.ts';

const KEYS = '_keys';

interface SecretRow {
  /** Id of the key. */
  _id: string;
  hash: string;
  usedAt: Date | null;
}

export class ApiKeyStore {
  readonly #mongo: Mongo;
  readonly #keys: Collection<ApiKey>;
  readonly #secrets: Collection<SecretRow>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#keys = mongo.data.collection<ApiKey>(KEYS);
    this.#secrets = mongo.log.collection<SecretRow>('api_keys');
  }

  async start(): Promise<void> {
    await ensureSystemCollection(this.#mongo, KEYS);
  }

  async insert(key: ApiKey, hash: string): Promise<void> {
    await withTranslatedErrors(() => this.#secrets.insertOne({ _id: key._id, hash, usedAt: null }));
    await withTranslatedErrors(() => this.#keys.insertOne({ ...key }));
  }

  find(id: string): Promise<ApiKey | null> {
    return withTranslatedErrors(() => this.#keys.findOne({ _id: id }));
  }

  async hashOf(id: string): Promise<string | null> {
    return (await withTranslatedErrors(() => this.#secrets.findOne({ _id: id })))?.hash ?? null;
  }

  /** Keys in the order of their ids, after one of them. */
  list(after: string | null, limit: number): Promise<ApiKey[]> {
    const filter = after === null ? {} : { _id: { $gt: after } };
    return withTranslatedErrors(() => this.#keys.find(filter).sort({ _id: 1 }).limit(limit).toArray());
  }

  /** Keys that have not expired. */
  count(now: Date): Promise<number> {
    return withTranslatedErrors(() =>
      this.#keys.countDocuments({ $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] }),
    );
  }

  async usedAt(ids: readonly string[]): Promise<ReadonlyMap<string, Date | null>> {
    const rows = await withTranslatedErrors(() => this.#secrets.find({ _id: { $in: [...ids] } }).toArray());
    return new Map(rows.map(({ _id, usedAt }) => [_id, usedAt]));
  }

  async setUsed(used: ReadonlyMap<string, Date>): Promise<void> {
    const updates = [...used].map(([_id, at]) => ({
      updateOne: { filter: { _id }, update: { $max: { usedAt: at } } },
    }));
    if (updates.length > 0) await withTranslatedErrors(() => this.#secrets.bulkWrite(updates, { ordered: false }));
  }

  /** The secret is removed first, so that it never outlives the key. */
  async remove(id: string, stamp: ChangeStamp): Promise<boolean> {
    return withTranslatedErrors(async () => {
      await this.#secrets.deleteOne({ _id: id });
      await this.#keys.updateOne({ _id: id }, { $set: stampDeletion(stamp) });
      return (await this.#keys.deleteOne({ _id: id })).deletedCount === 1;
    });
  }
}
