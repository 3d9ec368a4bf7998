/**
 * The secrets of plugins in `<db>_log.plugin_secrets`, sealed. Not here: which of them a version names (manifest/), and what may
 * be done with them.
 */
import type { ClientSession, Collection } from 'mongodb';
import { CODE, serverCode, translated } from '../../../database/errors.ts';
import { newId } from '../../../database/json/ids.ts';
import type { Mongo } from '../../../database/mongo.ts';
import type { Sealer } from '../../../kernel/sealer.ts';

const SECRETS = 'plugin_secrets';

interface SecretsRow {
  /** Name of the plugin. */
  readonly _id: string;
  /** Made anew with each change. */
  readonly change: string;
  /** Each sealed with the newest master key of its time, by name. */
  readonly sealed: Readonly<Record<string, string>>;
}

/** The secrets of one plugin. */
export interface KeptSecrets {
  /** Another one after each change. */
  readonly change: string | null;
  readonly names: readonly string[];
  /** In clear. They must not be logged, or stored as they are. @throws SealBroken without the master key that sealed them */
  readonly open: () => Readonly<Record<string, string>>;
}

export class PluginSecretStore {
  readonly #log: Mongo['log'];
  readonly #sealer: Sealer;
  readonly #rows: Collection<SecretsRow>;
  #prepared: Promise<void> | null = null;

  constructor({ log }: Pick<Mongo, 'log'>, sealer: Sealer) {
    this.#log = log;
    this.#sealer = sealer;
    this.#rows = log.collection<SecretsRow>(SECRETS);
  }

  /** Seals with the newest master key what is sealed otherwise. */
  async start(): Promise<void> {
    await translated(async () => {
      for (const { _id, change, sealed } of await this.#rows.find().toArray()) {
        if (!Object.values(sealed).some((one) => this.#sealer.isStale(one))) continue;
        const again = this.#sealed(_id, this.#opened(_id, sealed));
        await this.#rows.updateOne({ _id, change }, { $set: { sealed: again } });
      }
    });
  }

  /** Makes the collection, once. Asked before the first secret is stored: without one nothing is made. */
  prepare(): Promise<void> {
    this.#prepared ??= translated(async () => {
      await this.#log.createCollection(SECRETS).catch((error: unknown) => {
        if (serverCode(error) !== CODE.namespaceExists) throw error;
      });
    }).catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  /** By plugin; those without secrets are not there. */
  async all(session: ClientSession): Promise<ReadonlyMap<string, KeptSecrets>> {
    const rows = await this.#rows.find({}, { session }).toArray();
    return new Map(rows.map((row) => [row._id, this.#kept(row)]));
  }

  async of(plugin: string, session: ClientSession): Promise<KeptSecrets> {
    const row = await this.#rows.findOne({ _id: plugin }, { session });
    return row === null ? NO_SECRETS : this.#kept(row);
  }

  /** Replaces the secrets of a plugin. */
  async save(plugin: string, secrets: Readonly<Record<string, string>>, session: ClientSession): Promise<void> {
    const row = { change: newId().toHexString(), sealed: this.#sealed(plugin, secrets) };
    await this.#rows.replaceOne({ _id: plugin }, row, { upsert: true, session });
  }

  async remove(plugin: string, session: ClientSession): Promise<void> {
    await this.#rows.deleteOne({ _id: plugin }, { session });
  }

  #kept({ _id, change, sealed }: SecretsRow): KeptSecrets {
    return { change, names: Object.keys(sealed), open: () => this.#opened(_id, sealed) };
  }

  #sealed(plugin: string, secrets: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return each(secrets, (secret, name) => this.#sealer.seal(secret, contextOf(plugin, name)));
  }

  #opened(plugin: string, sealed: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return each(sealed, (secret, name) => this.#sealer.open(secret, contextOf(plugin, name)));
  }
}

/** Of a plugin without secrets. */
export const NO_SECRETS: KeptSecrets = Object.freeze({ change: null, names: [], open: () => ({}) });

function each(values: Readonly<Record<string, string>>, change: (value: string, name: string) => string) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}

/** What a secret is sealed for: it opens as no other. */
const contextOf = (plugin: string, name: string): string => `secret ${name} of the plugin ${plugin}`;
