/**
 * Where endpoints are kept: `_endpoints` in `<db>`, whose changes are events, and in `<db>_log` the secrets of each and the
 * values of its headers, sealed. Both are written in one transaction. Only this folder calls this file.
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
  stamped,
  stampedForDeletion,
} from '../../database/system-collection.ts';
import type { Sealer } from '../../kernel/sealer.ts';
import type { DisabledReason, LiveSecret, Maker, Via } from './endpoint.ts';
import type { OwnHeaders, WrittenEndpoint } from './endpoint-rules.ts';
import { ENDPOINTS_COLLECTION, type StoredEndpoint } from './stored-endpoint.ts';

const SECRETS = 'webhook_secrets';
const COUNTED = 'webhook_counts';

/** What is secret of an endpoint, in clear. It must not be logged, or stored as it is. */
export interface EndpointSecrets {
  /** The newest first. */
  readonly secrets: readonly LiveSecret[];
  readonly headers: OwnHeaders;
}

/** An endpoint as it is kept. */
export interface KeptEndpoint {
  readonly id: string;
  readonly written: WrittenEndpoint;
  readonly headerNames: readonly string[];
  readonly disabledReason: DisabledReason | null;
  /** Undefined where another program wrote the document. */
  readonly principal: Maker | undefined;
  readonly meta: OwnMeta | undefined;
  /** Another one after each change, also of a secret and also by another program. */
  readonly version: string;
  readonly stored: StoredEndpoint;
  /** @throws SealBroken without the master key that sealed them */
  readonly open: () => EndpointSecrets;
}

/** Who made an endpoint, and by which route. */
export interface MadeBy {
  readonly principal: Maker;
  /** Undefined for `POST /webhooks/endpoints`. */
  readonly via?: Via | undefined;
}

interface SecretsRow {
  /** Id of the endpoint. */
  _id: string;
  /** Made anew with each change. */
  change: string;
  /** Each sealed with the newest master key of its time; the newest secret first. */
  secrets: readonly { readonly sealed: string; readonly until: number | null }[];
  /** A list, because names may hold dots and dollars. */
  headers: readonly { readonly name: string; readonly sealed: string }[];
}

export class EndpointStore {
  readonly #mongo: Mongo;
  readonly #sealer: Sealer;
  readonly #endpoints: Collection<StoredEndpoint>;
  readonly #secrets: Collection<SecretsRow>;
  readonly #counted: Collection<{ _id: string; times: number }>;

  constructor(mongo: Mongo, sealer: Sealer) {
    this.#mongo = mongo;
    this.#sealer = sealer;
    this.#endpoints = mongo.data.collection<StoredEndpoint>(ENDPOINTS_COLLECTION);
    this.#secrets = mongo.log.collection<SecretsRow>(SECRETS);
    this.#counted = mongo.log.collection(COUNTED);
  }

  /** Makes sure that the collections exist, and seals with the newest master key what is sealed otherwise. */
  async start(): Promise<void> {
    await makeOwnCollection(this.#mongo, ENDPOINTS_COLLECTION);
    await translated(async () => {
      for (const name of [SECRETS, COUNTED]) {
        await this.#mongo.log.createCollection(name).catch((error: unknown) => {
          if (serverCode(error) !== CODE.namespaceExists) throw error;
        });
      }
      for (const row of await this.#secrets.find().toArray()) {
        if (![...row.secrets, ...row.headers].some(({ sealed }) => this.#sealer.isStale(sealed))) continue;
        const { _id, change } = row;
        await this.#secrets.updateOne({ _id, change }, { $set: this.#sealed(_id, this.#opened(row)) });
      }
    });
  }

  /** All endpoints, the oldest first; those of one maker where it is given. */
  async all(session: ClientSession, maker?: Maker): Promise<readonly KeptEndpoint[]> {
    const wanted = maker === undefined ? {} : { 'principal.kind': maker.kind, 'principal.id': maker.id };
    const rows = await this.#endpoints.find(wanted, { sort: { _id: 1 }, session }).toArray();
    const of = maker === undefined ? {} : { _id: { $in: rows.map(({ _id }) => _id) } };
    const secrets = await this.#secrets.find(of, { session }).toArray();
    const byId = new Map(secrets.map((row) => [row._id, row]));
    return rows.map((row) => this.#kept(row, byId.get(row._id)));
  }

  async find(id: string, session: ClientSession): Promise<KeptEndpoint | null> {
    const row = await this.#endpoints.findOne({ _id: id }, { session });
    if (row === null) return null;
    return this.#kept(row, (await this.#secrets.findOne({ _id: id }, { session })) ?? undefined);
  }

  /** Ids of the endpoints of one maker. */
  async idsOf({ kind, id }: Maker): Promise<readonly string[]> {
    const wanted = { 'principal.kind': kind, 'principal.id': id };
    const rows = await translated(() => this.#endpoints.find(wanted, { projection: { _id: 1 } }).toArray());
    return rows.map(({ _id }) => _id);
  }

  /**
   * How many there are. Transactions that ask for it meet at one row, so that of two which make an endpoint the second counts
   * the first one's too.
   */
  async countAlone(session: ClientSession): Promise<number> {
    await this.#counted.updateOne({ _id: ENDPOINTS_COLLECTION }, { $inc: { times: 1 } }, { upsert: true, session });
    return this.#endpoints.countDocuments({}, { session });
  }

  /** @returns its id */
  async insert(
    written: WrittenEndpoint,
    secrets: EndpointSecrets,
    { principal, via }: MadeBy,
    stamp: Stamp,
    session: ClientSession,
  ): Promise<string> {
    const _id = newId().toHexString();
    const disabledReason = written.enabled ? null : ('owner' as const);
    const headers = Object.keys(secrets.headers);
    const _meta = newMeta(stamp, new Date());
    const row = { _id, ...written, headers, disabledReason, principal, ...marked(via), _meta };
    await this.#endpoints.insertOne(row, { session });
    await this.#saveSecrets(_id, secrets, session);
    return _id;
  }

  /** Replaces an endpoint and its secrets; the reason for which it is disabled is cleared when it is enabled. */
  async save(
    before: KeptEndpoint,
    written: WrittenEndpoint,
    secrets: EndpointSecrets,
    stamp: Stamp,
    session: ClientSession,
  ): Promise<void> {
    const { _id, principal, via } = before.stored;
    const fresh = newMeta(stamp, new Date());
    const { revision = 0, createdAt = fresh.createdAt, createdBy = fresh.createdBy } = before.meta ?? {};
    const disabledReason = written.enabled ? null : (before.disabledReason ?? 'owner');
    const headers = Object.keys(secrets.headers);
    const _meta = { ...fresh, revision: revision + 1, createdAt, createdBy };
    const row = { ...written, headers, disabledReason, principal, ...marked(via), _meta };
    await this.#endpoints.replaceOne({ _id }, row, { session });
    await this.#saveSecrets(_id, secrets, session);
  }

  /**
   * Disables an endpoint.
   * @returns false when it is disabled already, or gone
   */
  async disable(id: string, disabledReason: DisabledReason, stamp: Stamp, session: ClientSession): Promise<boolean> {
    const { modifiedCount } = await this.#endpoints.updateOne(
      { _id: id, enabled: true },
      { $set: { enabled: false, disabledReason, ...stamped(stamp, new Date()) }, $inc: { '_meta.revision': 1 } },
      { session },
    );
    return modifiedCount === 1;
  }

  async remove(id: string, stamp: Stamp, session: ClientSession): Promise<void> {
    await this.#secrets.deleteOne({ _id: id }, { session });
    await this.#endpoints.updateOne({ _id: id }, { $set: stampedForDeletion(stamp) }, { session });
    await this.#endpoints.deleteOne({ _id: id }, { session });
  }

  async #saveSecrets(_id: string, secrets: EndpointSecrets, session: ClientSession): Promise<void> {
    await this.#secrets.replaceOne({ _id }, this.#sealed(_id, secrets), { upsert: true, session });
  }

  #kept(stored: StoredEndpoint, secrets: SecretsRow | undefined): KeptEndpoint {
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

  #sealed(id: string, { secrets, headers }: EndpointSecrets): Omit<SecretsRow, '_id'> {
    return {
      change: newId().toHexString(),
      secrets: secrets.map(({ secret, until }) => ({ sealed: this.#sealer.seal(secret, secretOf(id)), until })),
      headers: Object.entries(headers).map(([name, value]) => ({
        name,
        sealed: this.#sealer.seal(value, headerOf(id, name)),
      })),
    };
  }

  #opened({ _id: id, secrets, headers }: SecretsRow): EndpointSecrets {
    return {
      secrets: secrets.map(({ sealed, until }) => ({ secret: this.#sealer.open(sealed, secretOf(id)), until })),
      headers: Object.fromEntries(
        headers.map(({ name, sealed }) => [name, this.#sealer.open(sealed, headerOf(id, name))]),
      ),
    };
  }
}

const marked = (via: Via | undefined) => (via === undefined ? {} : { via });

/** What a secret is sealed for: it opens as no other. */
const secretOf = (endpoint: string): string => `endpoint ${endpoint} secret`;
const headerOf = (endpoint: string, name: string): string => `endpoint ${endpoint} header ${name}`;
