/**
 * Where identity providers are kept: `_providers` in `<db>`, whose changes are events, and in `<db>_log` the secrets of
 * each, sealed. Both are written in one transaction. Only this folder calls this file.
 */
import { hash } from 'node:crypto';
import type { ClientSession, Collection } from 'mongodb';
import { CODE, serverCode, translated } from '../../database/errors.ts';
import { newId } from '../../database/json/ids.ts';
import type { Mongo } from '../../database/mongo.ts';
import {
  makeOwnCollection,
  newMeta,
  type OwnMeta,
  type Stamp,
  stampedForDeletion,
} from '../../database/system-collection.ts';
import type { Sealer } from '../../kernel/sealer.ts';
import { KEPT_TOKENS, type KeptTokensRow } from './kept-tokens.ts';
import { type ProviderSecrets, SECRET_NAMES, type SecretName, type WrittenProvider } from './provider.ts';

/** The collection of providers in `<db>`. */
export const PROVIDERS_COLLECTION = '_providers';
const SECRETS = 'provider_secrets';

/** A provider as it is kept. */
export interface KeptProvider {
  readonly written: WrittenProvider;
  /** Which secrets it has. */
  readonly secretNames: readonly SecretName[];
  /** @throws SealBroken without the master key that sealed them */
  readonly openSecrets: () => ProviderSecrets;
  /** Another one after each change, also of a secret and also by another program. */
  readonly version: string;
  readonly meta: OwnMeta | undefined;
}

interface ProviderRow extends Omit<WrittenProvider, 'name'> {
  /** Its name. */
  _id: string;
  _meta?: OwnMeta;
}

interface SecretsRow {
  /** Name of the provider. */
  _id: string;
  /** Made anew with each change. */
  change: string;
  /** Each sealed with the newest master key of its time. */
  sealed: ProviderSecrets;
}

export class ProviderStore {
  readonly #mongo: Mongo;
  readonly #sealer: Sealer;
  readonly #providers: Collection<ProviderRow>;
  readonly #secrets: Collection<SecretsRow>;
  readonly #tokens: Collection<KeptTokensRow>;

  constructor(mongo: Mongo, sealer: Sealer) {
    this.#mongo = mongo;
    this.#sealer = sealer;
    this.#providers = mongo.data.collection<ProviderRow>(PROVIDERS_COLLECTION);
    this.#secrets = mongo.log.collection<SecretsRow>(SECRETS);
    this.#tokens = mongo.log.collection<KeptTokensRow>(KEPT_TOKENS);
  }

  /** Makes sure that the collections exist, and seals with the newest master key what is sealed otherwise. */
  async start(): Promise<void> {
    await makeOwnCollection(this.#mongo, PROVIDERS_COLLECTION);
    await translated(async () => {
      await this.#mongo.log.createCollection(SECRETS).catch((error: unknown) => {
        if (serverCode(error) !== CODE.namespaceExists) throw error;
      });
      for (const { _id, sealed } of await this.#secrets.find().toArray()) {
        if (!Object.values(sealed).some((secret) => this.#sealer.isStale(secret))) continue;
        const again = this.#sealed(_id, this.#opened(_id, sealed));
        await this.#secrets.updateOne({ _id, sealed }, { $set: { sealed: again } });
      }
    });
  }

  count(): Promise<number> {
    return translated(() => this.#providers.countDocuments());
  }

  /** All providers, in the order of their names. */
  async all(session: ClientSession): Promise<readonly KeptProvider[]> {
    const rows = await this.#providers.find({}, { sort: { _id: 1 }, session }).toArray();
    const secrets = await this.#secrets.find({}, { session }).toArray();
    const byName = new Map(secrets.map((row) => [row._id, row]));
    return rows.map((row) => this.#kept(row, byName.get(row._id)));
  }

  async find(name: string, session: ClientSession): Promise<KeptProvider | null> {
    const row = await this.#providers.findOne({ _id: name }, { session });
    if (row === null) return null;
    return this.#kept(row, (await this.#secrets.findOne({ _id: name }, { session })) ?? undefined);
  }

  /** Adds a provider, or replaces the one of its name, which `before` is. */
  async save(
    before: KeptProvider | null,
    { name, ...written }: WrittenProvider,
    secrets: ProviderSecrets,
    stamp: Stamp,
    session: ClientSession,
  ): Promise<void> {
    const fresh = newMeta(stamp, new Date());
    const { revision = 0, createdAt = fresh.createdAt, createdBy = fresh.createdBy } = before?.meta ?? {};
    const row = { ...written, _meta: { ...fresh, revision: revision + 1, createdAt, createdBy } };
    if (before === null) await this.#providers.insertOne({ _id: name, ...row }, { session });
    else await this.#providers.replaceOne({ _id: name }, row, { session });
    const kept = { change: newId().toHexString(), sealed: this.#sealed(name, secrets) };
    await this.#secrets.replaceOne({ _id: name }, kept, { upsert: true, session });
    if (written.keepTokens !== true) await this.#tokens.deleteMany({ provider: name }, { session });
  }

  async remove(name: string, stamp: Stamp, session: ClientSession): Promise<void> {
    await this.#secrets.deleteOne({ _id: name }, { session });
    await this.#tokens.deleteMany({ provider: name }, { session });
    await this.#providers.updateOne({ _id: name }, { $set: stampedForDeletion(stamp) }, { session });
    await this.#providers.deleteOne({ _id: name }, { session });
  }

  #kept({ _id: name, _meta: meta, ...rest }: ProviderRow, secrets: SecretsRow | undefined): KeptProvider {
    const written = { name, ...rest };
    const { change, sealed = {} } = secrets ?? {};
    return {
      written,
      version: hash('sha256', JSON.stringify([written, change]), 'base64url'),
      meta,
      secretNames: SECRET_NAMES.filter((one) => sealed[one] !== undefined),
      openSecrets: () => this.#opened(name, sealed),
    };
  }

  #sealed(provider: string, secrets: ProviderSecrets): ProviderSecrets {
    return eachSecret(secrets, (secret, name) => this.#sealer.seal(secret, contextOf(provider, name)));
  }

  #opened(provider: string, sealed: ProviderSecrets): ProviderSecrets {
    return eachSecret(sealed, (secret, name) => this.#sealer.open(secret, contextOf(provider, name)));
  }
}

function eachSecret(secrets: ProviderSecrets, change: (secret: string, name: SecretName) => string): ProviderSecrets {
  const changed: { -readonly [Name in SecretName]?: string } = {};
  for (const name of SECRET_NAMES) {
    const secret = secrets[name];
    if (secret !== undefined) changed[name] = change(secret, name);
  }
  return changed;
}

/** What a secret is sealed for: it opens as no other. */
function contextOf(provider: string, name: SecretName): string {
  return `provider ${provider} ${name}`;
}
