/** The versions of plugins in `<db>_log.plugin_versions`: manifest, scripts, author and time. */
import type { ClientSession, Collection, Filter } from 'mongodb';
import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from '../../../database/errors.ts';
import { newId } from '../../../database/json/ids.ts';
import type { Mongo } from '../../../database/mongo.ts';

const VERSIONS = 'plugin_versions';
/** Stored versions of one plugin, in addition to the active one. */
const KEPT = 100;

export interface PluginVersionFile {
  readonly path: string;
  /** As its author wrote it. */
  readonly text: string;
  /** Without types; null if that is identical. */
  readonly code: string | null;
}

/** A version without its scripts. */
export interface PluginVersionInfo {
  readonly version: number;
  readonly createdAt: Date;
  /** The author, as `admin:u1`. */
  readonly createdBy: string | null;
  readonly note: string | null;
}

export interface StoredVersion extends PluginVersionInfo {
  /** As JSON text: field names of filters in it would have a meaning for the database. */
  readonly manifest: string;
  readonly files: readonly PluginVersionFile[];
  /** Identifies manifest and scripts. */
  readonly digest: string;
  /** Id of the scripts without their types. */
  readonly bundle: string;
  readonly readsUsers: boolean;
}

interface VersionRow extends StoredVersion {
  readonly _id: string;
  readonly plugin: string;
}

export class VersionStore {
  readonly #log: Mongo['log'];
  readonly #rows: Collection<VersionRow>;
  #prepared: Promise<void> | null = null;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#log = log;
    this.#rows = log.collection<VersionRow>(VERSIONS);
  }

  /** Creates the collection, once. Called before the first version is stored. */
  prepare(): Promise<void> {
    this.#prepared ??= withTranslatedErrors(async () => {
      await this.#log.createCollection(VERSIONS).catch((error: unknown) => {
        if (mongoErrorCode(error) !== MONGO_ERROR_CODES.namespaceExists) throw error;
      });
      await this.#rows.createIndex({ plugin: 1, version: -1 }, { unique: true });
    }).catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  /** @returns null if it is not stored */
  async find(plugin: string, version: number, session: ClientSession): Promise<StoredVersion | null> {
    return this.#rows.findOne({ plugin, version }, { session });
  }

  /** The newest first. */
  async list(plugin: string, session: ClientSession): Promise<readonly PluginVersionInfo[]> {
    const projection = { _id: 0, version: 1, createdAt: 1, createdBy: 1, note: 1 } as const;
    return this.#rows.find({ plugin }, { sort: { version: -1 }, limit: KEPT, projection, session }).toArray();
  }

  /** Manifests by plugin, of one version each. */
  async manifests(
    requested: readonly { readonly plugin: string; readonly version: number }[],
    session: ClientSession,
  ): Promise<ReadonlyMap<string, string>> {
    if (requested.length === 0) return new Map();
    const projection = { plugin: 1, manifest: 1 } as const;
    const rows = await this.#rows.find({ $or: [...requested] }, { projection, session }).toArray();
    return new Map(rows.map(({ plugin, manifest }) => [plugin, manifest]));
  }

  /**
   * Stores a version under the next number, and deletes the oldest ones above the limit.
   * @param activeNow the currently active version
   * @returns its number
   */
  async add(
    plugin: string,
    version: Omit<StoredVersion, 'version'>,
    activeNow: number | null,
    session: ClientSession,
  ): Promise<number> {
    const newest = await this.#rows.findOne({ plugin }, { sort: { version: -1 }, projection: { version: 1 }, session });
    const number = (newest?.version ?? 0) + 1;
    await this.#rows.insertOne({ _id: newId().toHexString(), plugin, version: number, ...version }, { session });
    const old: Filter<VersionRow> = {
      plugin,
      version: { $lte: number - KEPT, ...(activeNow !== null && { $ne: activeNow }) },
    };
    await this.#rows.deleteMany(old, { session });
    return number;
  }

  async removeAll(plugin: string, session: ClientSession): Promise<void> {
    await this.#rows.deleteMany({ plugin }, { session });
  }
}
