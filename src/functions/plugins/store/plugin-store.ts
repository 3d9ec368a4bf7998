/** The documents of `_plugins`, in transactions. Only this folder and the files above it call this file. */
import type { ClientSession, Collection } from 'mongodb';
import { withTranslatedErrors } from '../../../database/errors.ts';
import type { Mongo } from '../../../database/mongo.ts';
import {
  type ChangeStamp,
  ensureSystemCollection,
  newDocumentMeta,
  stampDeletion,
} from '../../../database/system-collection.ts';
import { PLUGINS_COLLECTION, type PluginRow } from './plugin-row.ts';

const TURNS = 'plugin_turns';

/** As it is stored and as events show it: the version is text, as in every response. Earlier rows have it as a number. */
interface StoredRow extends Omit<PluginRow, 'version'> {
  readonly version: string | number | null;
}

export class PluginStore {
  readonly #mongo: Mongo;
  readonly #rows: Collection<StoredRow>;
  readonly #turns: Collection<{ _id: string; times: number }>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#rows = mongo.data.collection<StoredRow>(PLUGINS_COLLECTION);
    this.#turns = mongo.log.collection(TURNS);
  }

  async start(): Promise<void> {
    await ensureSystemCollection(this.#mongo, PLUGINS_COLLECTION);
  }

  /** Ordered by name. */
  async all(session?: ClientSession): Promise<readonly PluginRow[]> {
    const options = { sort: { _id: 1 }, ...(session && { session }) } as const;
    return withTranslatedErrors(async () => (await this.#rows.find({}, options).toArray()).map(toRow));
  }

  async find(name: string, session: ClientSession): Promise<PluginRow | null> {
    const stored = await this.#rows.findOne({ _id: name }, { session });
    return stored && toRow(stored);
  }

  /** The number of plugins in the database. */
  count(session: ClientSession): Promise<number> {
    return this.#rows.countDocuments({ version: { $ne: null } }, { session });
  }

  /**
   * Serializes transactions that change plugins: of two concurrent ones, the second restarts and sees the changes of the first.
   */
  async serializeWrites(session: ClientSession): Promise<void> {
    await this.#turns.updateOne({ _id: PLUGINS_COLLECTION }, { $inc: { times: 1 } }, { upsert: true, session });
  }

  /** Adds a plugin, or replaces `before`, the one of its name. */
  async save(before: PluginRow | null, row: PluginRow, stamp: ChangeStamp, session: ClientSession): Promise<void> {
    const fresh = newDocumentMeta(stamp, new Date());
    const { revision = 0, createdAt = fresh.createdAt, createdBy = fresh.createdBy } = before?._meta ?? {};
    const version = row.version === null ? null : String(row.version);
    const saved = { ...row, version, _meta: { ...fresh, revision: revision + 1, createdAt, createdBy } };
    if (before === null) await this.#rows.insertOne(saved, { session });
    else await this.#rows.replaceOne({ _id: row._id }, saved, { session });
  }

  async remove(name: string, stamp: ChangeStamp, session: ClientSession): Promise<void> {
    await this.#rows.updateOne({ _id: name }, { $set: stampDeletion(stamp) }, { session });
    await this.#rows.deleteOne({ _id: name }, { session });
  }
}

function toRow(stored: StoredRow): PluginRow {
  return { ...stored, version: stored.version === null ? null : Number(stored.version) };
}
