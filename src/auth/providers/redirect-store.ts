/**
 * The redirect URLs that administrators allow: one document in `_settings` of `<db>`, whose changes are events. Only
 * this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import {
  type ChangeStamp,
  newDocumentMeta,
  SETTINGS_COLLECTION,
  type SystemDocumentMeta,
  stampUpdate,
} from '../../database/system-collection.ts';

const ID = 'sign-in';

interface SettingsRow {
  _id: string;
  redirectUrls: readonly string[];
  _meta: SystemDocumentMeta;
}

export interface RedirectAllowlistRecord {
  readonly redirectUrls: readonly string[];
  /** How often they were changed. */
  readonly revision: number;
}

export class RedirectStore {
  readonly #settings: Collection<SettingsRow>;

  constructor({ data }: Pick<Mongo, 'data'>) {
    this.#settings = data.collection<SettingsRow>(SETTINGS_COLLECTION);
  }

  async read(): Promise<RedirectAllowlistRecord> {
    const row = await withTranslatedErrors(() => this.#settings.findOne({ _id: ID }));
    return row === null
      ? { redirectUrls: [], revision: 0 }
      : { redirectUrls: row.redirectUrls, revision: row._meta.revision };
  }

  /**
   * Replaces the list if it still has this revision.
   * @returns false when it has another one
   */
  async replace(redirectUrls: readonly string[], revision: number, stamp: ChangeStamp): Promise<boolean> {
    const now = new Date();
    try {
      const { matchedCount } = await withTranslatedErrors(() =>
        this.#settings.updateOne(
          { _id: ID, '_meta.revision': revision },
          { $set: { redirectUrls, ...stampUpdate(stamp, now) }, $inc: { '_meta.revision': 1 } },
        ),
      );
      if (matchedCount === 1 || revision > 0) return matchedCount === 1;
      await this.#settings.insertOne({ _id: ID, redirectUrls, _meta: newDocumentMeta(stamp, now) });
      return true;
    } catch (error) {
      if (mongoErrorCode(error) === MONGO_ERROR_CODES.duplicateKey) return false;
      throw error;
    }
  }
}
