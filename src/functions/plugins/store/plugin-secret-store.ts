/** The secrets of plugins in `<db>_log.plugin_secrets`, encrypted. */
import type { ClientSession, Collection } from 'mongodb';
import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from '../../../database/errors.ts';
import { newId } from '../../../database/json/ids.ts';
import type { Mongo } from '../../../database/mongo.ts';
import type { Encryption } from '../../../lib/encryption.ts';

const SECRETS = 'plugin_secrets';

interface SecretsRow {
  /** Name of the plugin. */
  readonly _id: string;
  /** Random, new with each change. */
  readonly change: string;
  /** By name, each encrypted with the newest master key at that time. */
  readonly encrypted: Readonly<Record<string, string>>;
}

/** The secrets of one plugin. */
export interface StoredPluginSecrets {
  /** Different after each change. */
  readonly change: string | null;
  readonly names: readonly string[];
  /**
   * Decrypted. They must not be logged or stored.
   * @throws DecryptionError without the master key that encrypted them
   */
  readonly open: () => Readonly<Record<string, string>>;
}

export class PluginSecretStore {
  readonly #log: Mongo['log'];
  readonly #encryption: Encryption;
  readonly #rows: Collection<SecretsRow>;
  #prepared: Promise<void> | null = null;

  constructor({ log }: Pick<Mongo, 'log'>, encryption: Encryption) {
    this.#log = log;
    this.#encryption = encryption;
    this.#rows = log.collection<SecretsRow>(SECRETS);
  }

  /** Re-encrypts secrets of older master keys with the newest one. */
  async start(): Promise<void> {
    await withTranslatedErrors(async () => {
      for (const { _id, change, encrypted } of await this.#rows.find().toArray()) {
        if (!Object.values(encrypted).some((one) => this.#encryption.isStale(one))) continue;
        const again = this.#encrypted(_id, this.#opened(_id, encrypted));
        await this.#rows.updateOne({ _id, change }, { $set: { encrypted: again } });
      }
    });
  }

  /** Creates the collection, once. Called before the first secret is stored. */
  prepare(): Promise<void> {
    this.#prepared ??= withTranslatedErrors(async () => {
      await this.#log.createCollection(SECRETS).catch((error: unknown) => {
        if (mongoErrorCode(error) !== MONGO_ERROR_CODES.namespaceExists) throw error;
      });
    }).catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  /** By plugin; those without secrets have no entry. */
  async all(session: ClientSession): Promise<ReadonlyMap<string, StoredPluginSecrets>> {
    const rows = await this.#rows.find({}, { session }).toArray();
    return new Map(rows.map((row) => [row._id, this.#kept(row)]));
  }

  async of(plugin: string, session: ClientSession): Promise<StoredPluginSecrets> {
    const row = await this.#rows.findOne({ _id: plugin }, { session });
    return row === null ? NO_SECRETS : this.#kept(row);
  }

  /** Replaces the secrets of a plugin. */
  async save(plugin: string, secrets: Readonly<Record<string, string>>, session: ClientSession): Promise<void> {
    const row = { change: newId().toHexString(), encrypted: this.#encrypted(plugin, secrets) };
    await this.#rows.replaceOne({ _id: plugin }, row, { upsert: true, session });
  }

  async remove(plugin: string, session: ClientSession): Promise<void> {
    await this.#rows.deleteOne({ _id: plugin }, { session });
  }

  #kept({ _id, change, encrypted }: SecretsRow): StoredPluginSecrets {
    return { change, names: Object.keys(encrypted), open: () => this.#opened(_id, encrypted) };
  }

  #encrypted(plugin: string, secrets: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return each(secrets, (secret, name) => this.#encryption.encrypt(secret, contextOf(plugin, name)));
  }

  #opened(plugin: string, encrypted: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return each(encrypted, (secret, name) => this.#encryption.open(secret, contextOf(plugin, name)));
  }
}

/** For a plugin without secrets. */
export const NO_SECRETS: StoredPluginSecrets = Object.freeze({ change: null, names: [], open: () => ({}) });

function each(values: Readonly<Record<string, string>>, change: (value: string, name: string) => string) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}

/** The encryption context of a secret: it cannot be decrypted as any other. */
const contextOf = (plugin: string, name: string): string => `secret ${name} of the plugin ${plugin}`;
