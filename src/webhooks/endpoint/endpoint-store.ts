/**
 * Stores endpoints: `_endpoints` in `<db>`, whose changes are events, and in `<db>_log` their secrets and header
 * values, encrypted. Both are written in one transaction. Only this folder uses this store.
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
  stampUpdate,
} from '../../database/system-collection.ts';
import type { Encryption } from '../../lib/encryption.ts';
import type { Creator, DisabledReason, EndpointCreationRoute, SigningSecret } from './endpoint.ts';
import type { CustomHeaders, EndpointSettings } from './endpoint-rules.ts';
import { ENDPOINTS_COLLECTION, type StoredEndpoint } from './stored-endpoint.ts';

const SECRETS = 'webhook_secrets';
const COUNTED = 'webhook_counts';

/** The plaintext secrets of an endpoint. They must not be logged or stored as they are. */
export interface EndpointSecrets {
  /** Newest first. */
  readonly secrets: readonly SigningSecret[];
  readonly headers: CustomHeaders;
}

/** A stored endpoint. */
export interface EndpointRecord {
  readonly id: string;
  readonly written: EndpointSettings;
  readonly headerNames: readonly string[];
  readonly disabledReason: DisabledReason | null;
  /** Undefined if another program wrote the document. */
  readonly principal: Creator | undefined;
  readonly meta: SystemDocumentMeta | undefined;
  /** Changes with each write, also of a secret and also by another program. */
  readonly version: string;
  readonly stored: StoredEndpoint;
  /** @throws DecryptionError without the master key that encrypted them */
  readonly open: () => EndpointSecrets;
}

/** Which principal created an endpoint, and by which route. */
export interface EndpointOrigin {
  readonly principal: Creator;
  /** Undefined for `POST /webhooks/endpoints`. */
  readonly via?: EndpointCreationRoute | undefined;
}

interface SecretsRow {
  /** Id of the endpoint. */
  _id: string;
  /** A new value with each change. */
  change: string;
  /** Each encrypted with the master key that was newest at the time; newest secret first. */
  secrets: readonly { readonly encrypted: string; readonly until: number | null }[];
  /** A list, because names may contain dots and dollar signs. */
  headers: readonly { readonly name: string; readonly encrypted: string }[];
}

export class EndpointStore {
  readonly #mongo: Mongo;
  readonly #encryption: Encryption;
  readonly #endpoints: Collection<StoredEndpoint>;
  readonly #secrets: Collection<SecretsRow>;
  readonly #counted: Collection<{ _id: string; times: number }>;

  constructor(mongo: Mongo, encryption: Encryption) {
    this.#mongo = mongo;
    this.#encryption = encryption;
    this.#endpoints = mongo.data.collection<StoredEndpoint>(ENDPOINTS_COLLECTION);
    this.#secrets = mongo.log.collection<SecretsRow>(SECRETS);
    this.#counted = mongo.log.collection(COUNTED);
  }

  /** Creates missing collections, and re-encrypts secrets with the newest master key. */
  async start(): Promise<void> {
    await ensureSystemCollection(this.#mongo, ENDPOINTS_COLLECTION);
    await withTranslatedErrors(async () => {
      for (const name of [SECRETS, COUNTED]) {
        await this.#mongo.log.createCollection(name).catch((error: unknown) => {
          if (mongoErrorCode(error) !== MONGO_ERROR_CODES.namespaceExists) throw error;
        });
      }
      for (const row of await this.#secrets.find().toArray()) {
        if (![...row.secrets, ...row.headers].some(({ encrypted }) => this.#encryption.isStale(encrypted))) continue;
        const { _id, change } = row;
        await this.#secrets.updateOne({ _id, change }, { $set: this.#encrypted(_id, this.#opened(row)) });
      }
    });
  }

  /** All endpoints, or those of one principal; oldest first. */
  async all(session: ClientSession, creator?: Creator): Promise<readonly EndpointRecord[]> {
    const requested = creator === undefined ? {} : { 'principal.kind': creator.kind, 'principal.id': creator.id };
    const rows = await this.#endpoints.find(requested, { sort: { _id: 1 }, session }).toArray();
    const of = creator === undefined ? {} : { _id: { $in: rows.map(({ _id }) => _id) } };
    const secrets = await this.#secrets.find(of, { session }).toArray();
    const byId = new Map(secrets.map((row) => [row._id, row]));
    return rows.map((row) => this.#kept(row, byId.get(row._id)));
  }

  async find(id: string, session: ClientSession): Promise<EndpointRecord | null> {
    const row = await this.#endpoints.findOne({ _id: id }, { session });
    if (row === null) return null;
    return this.#kept(row, (await this.#secrets.findOne({ _id: id }, { session })) ?? undefined);
  }

  /** Ids of the endpoints that one principal created. */
  async idsOf({ kind, id }: Creator): Promise<readonly string[]> {
    const requested = { 'principal.kind': kind, 'principal.id': id };
    const rows = await withTranslatedErrors(() =>
      this.#endpoints.find(requested, { projection: { _id: 1 } }).toArray(),
    );
    return rows.map(({ _id }) => _id);
  }

  /**
   * The number of endpoints. Transactions that count write one common row, so that of two concurrent creations the
   * second counts the first one's endpoint too.
   */
  async countAlone(session: ClientSession): Promise<number> {
    await this.#counted.updateOne({ _id: ENDPOINTS_COLLECTION }, { $inc: { times: 1 } }, { upsert: true, session });
    return this.#endpoints.countDocuments({}, { session });
  }

  /** @returns its id */
  async insert(
    written: EndpointSettings,
    secrets: EndpointSecrets,
    { principal, via }: EndpointOrigin,
    stamp: ChangeStamp,
    session: ClientSession,
  ): Promise<string> {
    const _id = newId().toHexString();
    const disabledReason = written.enabled ? null : ('manual' as const);
    const headers = Object.keys(secrets.headers);
    const _meta = newDocumentMeta(stamp, new Date());
    const row = { _id, ...written, headers, disabledReason, principal, ...marked(via), _meta };
    await this.#endpoints.insertOne(row, { session });
    await this.#saveSecrets(_id, secrets, session);
    return _id;
  }

  /** Replaces an endpoint and its secrets. Enabling it clears the reason why it was disabled. */
  async save(
    before: EndpointRecord,
    written: EndpointSettings,
    secrets: EndpointSecrets,
    stamp: ChangeStamp,
    session: ClientSession,
  ): Promise<void> {
    const { _id, principal, via } = before.stored;
    const fresh = newDocumentMeta(stamp, new Date());
    const { revision = 0, createdAt = fresh.createdAt, createdBy = fresh.createdBy } = before.meta ?? {};
    const disabledReason = written.enabled ? null : (before.disabledReason ?? 'manual');
    const headers = Object.keys(secrets.headers);
    const _meta = { ...fresh, revision: revision + 1, createdAt, createdBy };
    const row = { ...written, headers, disabledReason, principal, ...marked(via), _meta };
    await this.#endpoints.replaceOne({ _id }, row, { session });
    await this.#saveSecrets(_id, secrets, session);
  }

  /** Disables an endpoint. @returns false if it is already disabled or deleted */
  async disable(
    id: string,
    disabledReason: DisabledReason,
    stamp: ChangeStamp,
    session: ClientSession,
  ): Promise<boolean> {
    const { modifiedCount } = await this.#endpoints.updateOne(
      { _id: id, enabled: true },
      { $set: { enabled: false, disabledReason, ...stampUpdate(stamp, new Date()) }, $inc: { '_meta.revision': 1 } },
      { session },
    );
    return modifiedCount === 1;
  }

  async remove(id: string, stamp: ChangeStamp, session: ClientSession): Promise<void> {
    await this.#secrets.deleteOne({ _id: id }, { session });
    await this.#endpoints.updateOne({ _id: id }, { $set: stampDeletion(stamp) }, { session });
    await this.#endpoints.deleteOne({ _id: id }, { session });
  }

  async #saveSecrets(_id: string, secrets: EndpointSecrets, session: ClientSession): Promise<void> {
    await this.#secrets.replaceOne({ _id }, this.#encrypted(_id, secrets), { upsert: true, session });
  }

  #kept(stored: StoredEndpoint, secrets: SecretsRow | undefined): EndpointRecord {
    const { _id: id, headers: headerNames, disabledReason, principal, via: _, _meta: meta, ...written } = stored;
    return {
      id,
      written,
      headerNames,
      disabledReason,
      principal,
      meta,
      version: hash('sha256', JSON.stringify([stored, secrets?.change]), 'base64url'),
      stored,
      open: () => (secrets === undefined ? { secrets: [], headers: {} } : this.#opened(secrets)),
    };
  }

  #encrypted(id: string, { secrets, headers }: EndpointSecrets): Omit<SecretsRow, '_id'> {
    return {
      change: newId().toHexString(),
      secrets: secrets.map(({ secret, until }) => ({
        encrypted: this.#encryption.encrypt(secret, secretOf(id)),
        until,
      })),
      headers: Object.entries(headers).map(([name, value]) => ({
        name,
        encrypted: this.#encryption.encrypt(value, headerOf(id, name)),
      })),
    };
  }

  #opened({ _id: id, secrets, headers }: SecretsRow): EndpointSecrets {
    return {
      secrets: secrets.map(({ encrypted, until }) => ({
        secret: this.#encryption.open(encrypted, secretOf(id)),
        until,
      })),
      headers: Object.fromEntries(
        headers.map(({ name, encrypted }) => [name, this.#encryption.open(encrypted, headerOf(id, name))]),
      ),
    };
  }
}

const marked = (via: EndpointCreationRoute | undefined) => (via === undefined ? {} : { via });

/** The encryption context of a secret: a value stored for one endpoint does not decrypt as another's. */
const secretOf = (endpoint: string): string => `endpoint ${endpoint} secret`;
const headerOf = (endpoint: string, name: string): string => `endpoint ${endpoint} header ${name}`;
