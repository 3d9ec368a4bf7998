/** Where activity is kept: `_activity` in `<db>`. Only this folder calls this file. */
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { makeOwnCollection, type OwnMeta } from '../../database/system-collection.ts';

const ACTIVITY = '_activity';

export interface ActivityRow {
  readonly _id: string;
  readonly type: string;
  readonly details: Readonly<Record<string, string | null>>;
  readonly _meta: OwnMeta;
}

export class ActivityStore {
  readonly #mongo: Mongo;
  readonly #rows: Collection<ActivityRow>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#rows = mongo.data.collection<ActivityRow>(ACTIVITY);
  }

  async start(): Promise<void> {
    await makeOwnCollection(this.#mongo, ACTIVITY, [{ key: { '_meta.createdAt': 1 } }]);
  }

  async insert(row: ActivityRow): Promise<void> {
    await translated(() => this.#rows.insertOne({ ...row }));
  }

  async removeBefore(time: Date): Promise<void> {
    await translated(() => this.#rows.deleteMany({ '_meta.createdAt': { $lt: time } }));
  }
}
