/**
 * Where the redirects that owners allow are kept: one document in `_settings` of `<db>`, whose changes are events. Only
 * this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { CODE, serverCode, translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { newMeta, type OwnMeta, type Stamp, stamped } from '../../database/system-collection.ts';

/** The collection of what owners set for the whole installation, in `<db>`. */
export const SETTINGS_COLLECTION = '_settings';
const ID = 'sign-in';

interface SettingsRow {
  _id: string;
  redirects: readonly string[];
  _meta: OwnMeta;
}

export interface KeptRedirects {
  readonly redirects: readonly string[];
  /** How often they were changed. */
  readonly revision: number;
}

export class RedirectStore {
  readonly #settings: Collection<SettingsRow>;

  constructor({ data }: Pick<Mongo, 'data'>) {
    this.#settings = data.collection<SettingsRow>(SETTINGS_COLLECTION);
  }

  async read(): Promise<KeptRedirects> {
    const row = await translated(() => this.#settings.findOne({ _id: ID }));
    return row === null ? { redirects: [], revision: 0 } : { redirects: row.redirects, revision: row._meta.revision };
  }

  /**
   * Replaces the list, unless somebody has changed it since it had this revision.
   * @returns false when somebody has
   */
  async replace(redirects: readonly string[], revision: number, stamp: Stamp): Promise<boolean> {
    const now = new Date();
    try {
      const { matchedCount } = await translated(() =>
        this.#settings.updateOne(
          { _id: ID, '_meta.revision': revision },
          { $set: { redirects, ...stamped(stamp, now) }, $inc: { '_meta.revision': 1 } },
        ),
      );
      if (matchedCount === 1 || revision > 0) return matchedCount === 1;
      await this.#settings.insertOne({ _id: ID, redirects, _meta: newMeta(stamp, now) });
      return true;
    } catch (error) {
      if (serverCode(error) === CODE.duplicateKey) return false;
      throw error;
    }
  }
}
