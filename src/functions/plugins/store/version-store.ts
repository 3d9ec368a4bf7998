/**
 * The versions of plugins in `<db>_log.plugin_versions`: manifest and scripts, who stored them and when. Not here: which one is
 * in force (plugin-store.ts).
 */
import type { ClientSession, Collection, Filter } from 'mongodb';
import { CODE, serverCode, translated } from '../../../database/errors.ts';
import { newId } from '../../../database/json/ids.ts';
import type { Mongo } from '../../../database/mongo.ts';

const VERSIONS = 'plugin_versions';
/** Versions of one plugin that are kept, besides the one in force. */
const KEPT = 100;

export interface VersionFile {
  readonly path: string;
  /** As its author wrote it. */
  readonly text: string;
  /** Without its types; null where that is the same. */
  readonly code: string | null;
}

/** A version without its scripts. */
export interface VersionNote {
  readonly version: number;
  readonly at: Date;
  /** Who stored it, as `owner:u1`. */
  readonly by: string | null;
  readonly note: string | null;
}

export interface StoredVersion extends VersionNote {
  /** As JSON text: a filter in it has members that the database would take for its own. */
  readonly manifest: string;
  readonly files: readonly VersionFile[];
  /** Names manifest and scripts. */
  readonly digest: string;
  /** Id of the scripts without their types. */
  readonly bundle: string;
  readonly readsAccounts: boolean;
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

  /** Makes the collection, once. Asked before the first version is stored: without one nothing is made. */
  prepare(): Promise<void> {
    this.#prepared ??= translated(async () => {
      await this.#log.createCollection(VERSIONS).catch((error: unknown) => {
        if (serverCode(error) !== CODE.namespaceExists) throw error;
      });
      await this.#rows.createIndex({ plugin: 1, version: -1 }, { unique: true });
    }).catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  /** @returns null when it is not kept */
  async find(plugin: string, version: number, session: ClientSession): Promise<StoredVersion | null> {
    return this.#rows.findOne({ plugin, version }, { session });
  }

  /** The newest first. */
  async list(plugin: string, session: ClientSession): Promise<readonly VersionNote[]> {
    const projection = { _id: 0, version: 1, at: 1, by: 1, note: 1 } as const;
    return this.#rows.find({ plugin }, { sort: { version: -1 }, limit: KEPT, projection, session }).toArray();
  }

  /** Manifests by plugin, of one version each. */
  async manifests(
    wanted: readonly { readonly plugin: string; readonly version: number }[],
    session: ClientSession,
  ): Promise<ReadonlyMap<string, string>> {
    if (wanted.length === 0) return new Map();
    const projection = { plugin: 1, manifest: 1 } as const;
    const rows = await this.#rows.find({ $or: [...wanted] }, { projection, session }).toArray();
    return new Map(rows.map(({ plugin, manifest }) => [plugin, manifest]));
  }

  /**
   * Stores a version under the next number, and deletes the oldest ones beyond those that are kept.
   * @param inForce the number that is in force until now
   * @returns its number
   */
  async add(
    plugin: string,
    version: Omit<StoredVersion, 'version'>,
    inForce: number | null,
    session: ClientSession,
  ): Promise<number> {
    const newest = await this.#rows.findOne({ plugin }, { sort: { version: -1 }, projection: { version: 1 }, session });
    const number = (newest?.version ?? 0) + 1;
    await this.#rows.insertOne({ _id: newId().toHexString(), plugin, version: number, ...version }, { session });
    const old: Filter<VersionRow> = {
      plugin,
      version: { $lte: number - KEPT, ...(inForce !== null && { $ne: inForce }) },
    };
    await this.#rows.deleteMany(old, { session });
    return number;
  }

  async removeAll(plugin: string, session: ClientSession): Promise<void> {
    await this.#rows.deleteMany({ plugin }, { session });
  }
}
