/**
 * The name of this instance's application at Svix: generated once, so that two instances that share a token do not
 * treat each other's endpoints as their own. One document of `webhook_svix` in `<db>_log`.
 */
import { randomBytes } from 'node:crypto';
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../../../database/errors.ts';
import type { Mongo } from '../../../database/mongo.ts';

export class SvixApplicationStore {
  readonly #rows: Collection<{ _id: string; uid: string }>;

  constructor(mongo: Pick<Mongo, 'log'>) {
    this.#rows = mongo.log.collection('webhook_svix');
  }

  /** The name; the first caller generates it. */
  async uid(): Promise<string> {
    const uid = `millrace-${randomBytes(9).toString('hex')}`;
    const options = { upsert: true, returnDocument: 'after' } as const;
    const row = await withTranslatedErrors(() =>
      this.#rows.findOneAndUpdate({ _id: 'application' }, { $setOnInsert: { uid } }, options),
    );
    return row?.uid ?? uid;
  }
}
