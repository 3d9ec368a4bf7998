/**
 * The redirect URLs that administrators allow: one document in `_settings` of `<db>`, whose changes are events. Only
 * this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { CODE, serverCode, translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { newMeta, type OwnMeta, SETTINGS_COLLECTION, type Stamp, stamped } from '../../database/system-collection.ts';

const ID = 'sign-in';

interface SettingsRow {
  _id: string;
  redirectUrls: readonly string[];
  _meta: OwnMeta;
}

export interface RedirectsRecord {
  readonly redirectUrls: readonly string[];
  /** How often they were changed. */
  readonly revision: number;
}

export class RedirectStore {
  readonly #settings: Collection<SettingsRow>;

  constructor({ data }: Pick<Mongo, 'data'>) {
    this.#settings = data.collection<SettingsRow>(SETTINGS_COLLECTION);
  }

  async read(): Promise<RedirectsRecord> {
    const row = await translated(() => this.#settings.findOne({ _id: ID }));
    return row === null
      ? { redirectUrls: [], revision: 0 }
      : { redirectUrls: row.redirectUrls, revision: row._meta.revision };
  }

  /**
   * Replaces the list if it still has this revision.
   * @returns false when it has another one
   */
  async replace(redirectUrls: readonly string[], revision: number, stamp: Stamp): Promise<boolean> {
    const now = new Date();
    try {
      const { matchedCount } = await translated(() =>
        this.#settings.updateOne(
          { _id: ID, '_meta.revision': revision },
          { $set: { redirectUrls, ...stamped(stamp, now) }, $inc: { '_meta.revision': 1 } },
        ),
      );
      if (matchedCount === 1 || revision > 0) return matchedCount === 1;
      await this.#settings.insertOne({ _id: ID, redirectUrls, _meta: newMeta(stamp, now) });
      return true;
    } catch (error) {
      if (serverCode(error) === CODE.duplicateKey) return false;
      throw error;
    }
  }
}
