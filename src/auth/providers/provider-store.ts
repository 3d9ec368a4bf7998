/**
 * Identity providers in `_providers` of `<db>`, whose changes are events, and the encrypted secrets of each in
 * `<db>_log`. One transaction writes both. Only this folder calls this file.
 */
import { hash } from 'node:crypto';
import type { ClientSession, Collection } from 'mongodb';
import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from '../../database/errors.ts';
import { newId } from '../../database/json/ids.ts';
import type { Mongo } from '../../database/mongo.ts';
import {
  type ChangeStamp,
  ensureSystemCollection,
  newDocumentMeta,
  type SystemDocumentMeta,
  stampDeletion,
} from '../../database/system-collection.ts';
import type { Encryption } from '../../lib/encryption.ts';
import {
  PROVIDER_SECRET_NAMES,
  type ProviderDefinition,
  type ProviderSecretName,
  type ProviderSecrets,
} from './provider.ts';
import { PROVIDER_TOKENS_COLLECTION, type ProviderTokensRow } from './provider-tokens.ts';

/** The collection of providers in `<db>`. */
export const PROVIDERS_COLLECTION = '_providers';
const SECRETS = 'provider_secrets';

/** A provider as it is stored. */
export interface ProviderRecord {
  readonly written: ProviderDefinition;
  /** Which secrets it has. */
  readonly secretNames: readonly ProviderSecretName[];
  /** @throws DecryptionError without the master key that encrypted them */
  readonly decryptSecrets: () => ProviderSecrets;
  /** Different after each change, also of a secret and also by another program. */
  readonly version: string;
  readonly meta: SystemDocumentMeta | undefined;
}

interface ProviderRow extends Omit<ProviderDefinition, 'name'> {
  /** Its name. */
  _id: string;
  _meta?: SystemDocumentMeta;
}

interface SecretsRow {
  /** Name of the provider. */
  _id: string;
  /** New with each change. */
  change: string;
  /** Each encrypted with the newest master key of its time. */
  encrypted: ProviderSecrets;
}

export class ProviderStore {
  readonly #mongo: Mongo;
  readonly #encryption: Encryption;
  readonly #providers: Collection<ProviderRow>;
  readonly #secrets: Collection<SecretsRow>;
  readonly #tokens: Collection<ProviderTokensRow>;

  constructor(mongo: Mongo, encryption: Encryption) {
    this.#mongo = mongo;
    this.#encryption = encryption;
    this.#providers = mongo.data.collection<ProviderRow>(PROVIDERS_COLLECTION);
    this.#secrets = mongo.log.collection<SecretsRow>(SECRETS);
    this.#tokens = mongo.log.collection<ProviderTokensRow>(PROVIDER_TOKENS_COLLECTION);
  }

  /** Creates the collections if necessary, and encrypts with the newest master key whatever is stored otherwise. */
  async start(): Promise<void> {
    await ensureSystemCollection(this.#mongo, PROVIDERS_COLLECTION);
    await withTranslatedErrors(async () => {
      await this.#mongo.log.createCollection(SECRETS).catch((error: unknown) => {
        if (mongoErrorCode(error) !== MONGO_ERROR_CODES.namespaceExists) throw error;
      });
      for (const { _id, encrypted } of await this.#secrets.find().toArray()) {
        if (!Object.values(encrypted).some((secret) => this.#encryption.isStale(secret))) continue;
        const again = this.#encrypted(_id, this.#opened(_id, encrypted));
        await this.#secrets.updateOne({ _id, encrypted }, { $set: { encrypted: again } });
      }
    });
  }

  count(): Promise<number> {
    return withTranslatedErrors(() => this.#providers.countDocuments());
  }

  /** All providers, in the order of their names. */
  async all(session: ClientSession): Promise<readonly ProviderRecord[]> {
    const rows = await this.#providers.find({}, { sort: { _id: 1 }, session }).toArray();
    const secrets = await this.#secrets.find({}, { session }).toArray();
    const byName = new Map(secrets.map((row) => [row._id, row]));
    return rows.map((row) => this.#kept(row, byName.get(row._id)));
  }

  async find(name: string, session: ClientSession): Promise<ProviderRecord | null> {
    const row = await this.#providers.findOne({ _id: name }, { session });
    if (row === null) return null;
    return this.#kept(row, (await this.#secrets.findOne({ _id: name }, { session })) ?? undefined);
  }

  /** Adds a provider, or replaces the one of its name, which is `before`. */
  async save(
    before: ProviderRecord | null,
    { name, ...written }: ProviderDefinition,
    secrets: ProviderSecrets,
    stamp: ChangeStamp,
    session: ClientSession,
  ): Promise<void> {
    const reauthentication = newDocumentMeta(stamp, new Date());
    const {
      revision = 0,
      createdAt = reauthentication.createdAt,
      createdBy = reauthentication.createdBy,
    } = before?.meta ?? {};
    const row = { ...written, _meta: { ...reauthentication, revision: revision + 1, createdAt, createdBy } };
    if (before === null) await this.#providers.insertOne({ _id: name, ...row }, { session });
    else await this.#providers.replaceOne({ _id: name }, row, { session });
    const kept = { change: newId().toHexString(), encrypted: this.#encrypted(name, secrets) };
    await this.#secrets.replaceOne({ _id: name }, kept, { upsert: true, session });
    if (written.storeTokens !== true) await this.#tokens.deleteMany({ provider: name }, { session });
  }

  async remove(name: string, stamp: ChangeStamp, session: ClientSession): Promise<void> {
    await this.#secrets.deleteOne({ _id: name }, { session });
    await this.#tokens.deleteMany({ provider: name }, { session });
    await this.#providers.updateOne({ _id: name }, { $set: stampDeletion(stamp) }, { session });
    await this.#providers.deleteOne({ _id: name }, { session });
  }

  #kept({ _id: name, _meta: meta, ...rest }: ProviderRow, secrets: SecretsRow | undefined): ProviderRecord {
    const written = { name, ...rest };
    const { change, encrypted = {} } = secrets ?? {};
    return {
      written,
      version: hash('sha256', JSON.stringify([written, change]), 'base64url'),
      meta,
      secretNames: PROVIDER_SECRET_NAMES.filter((one) => encrypted[one] !== undefined),
      decryptSecrets: () => this.#opened(name, encrypted),
    };
  }

  #encrypted(provider: string, secrets: ProviderSecrets): ProviderSecrets {
    return eachSecret(secrets, (secret, name) => this.#encryption.encrypt(secret, contextOf(provider, name)));
  }

  #opened(provider: string, encrypted: ProviderSecrets): ProviderSecrets {
    return eachSecret(encrypted, (secret, name) => this.#encryption.open(secret, contextOf(provider, name)));
  }
}

function eachSecret(
  secrets: ProviderSecrets,
  change: (secret: string, name: ProviderSecretName) => string,
): ProviderSecrets {
  const changed: { -readonly [Name in ProviderSecretName]?: string } = {};
  for (const name of PROVIDER_SECRET_NAMES) {
    const secret = secrets[name];
    if (secret !== undefined) changed[name] = change(secret, name);
  }
  return changed;
}

/** The context of the encryption: a secret decrypts in no other one. */
function contextOf(provider: string, name: ProviderSecretName): string {
  return `provider ${provider} ${name}`;
}
