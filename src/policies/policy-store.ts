/**
 * Policies in the database: one document each in `_policies`, whose changes are events, and every version of the whole
 * set in `<db>_log.policy_versions`. Only this folder calls this file.
 */
import type { ClientSession, Collection, Document } from 'mongodb';
import type { ServerMode } from '../config/config.ts';
import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import {
  actorIdWithoutKind,
  type ChangeStamp,
  ensureCollection,
  stampDeletion,
} from '../database/system-collection.ts';
import type { SystemCollection } from '../lib/event-types.ts';
import type { PolicyRecord } from './policy-set.ts';

/** The collection of policies in `<db>`. */
export const POLICIES_COLLECTION: SystemCollection = '_policies';
/** Maximum stored versions. */
const MAX_VERSIONS = 100;

/** One version of the whole set. */
export interface PolicyVersion {
  readonly version: number;
  readonly at: Date;
  /** `admin:o1`; null for the program itself. */
  readonly by: string | null;
  readonly policies: readonly PolicyRecord[];
}

interface StoredPolicy extends Document {
  readonly _id: string;
}

interface StoredVersion {
  _id: number;
  at: Date;
  by: string | null;
  policies: PolicyRecord[];
}

export class PolicyStore {
  readonly #mongo: Mongo;
  readonly #policies: Collection<StoredPolicy>;
  readonly #versions: Collection<StoredVersion>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#policies = mongo.data.collection<StoredPolicy>(POLICIES_COLLECTION);
    this.#versions = mongo.log.collection<StoredVersion>('policy_versions');
  }

  /**
   * Creates the collections if necessary, with images, so that changes of policies are events with both states.
   * @returns true if there was no collection of policies
   */
  async start(): Promise<boolean> {
    return withTranslatedErrors(async () => {
      await this.#mongo.log.createCollection('policy_versions').catch((error: unknown) => {
        if (mongoErrorCode(error) !== MONGO_ERROR_CODES.namespaceExists) throw error;
      });
      return ensureCollection(this.#mongo.data, POLICIES_COLLECTION);
    });
  }

  /** The current policies, in the order of their ids. */
  async all(session?: ClientSession): Promise<readonly PolicyRecord[]> {
    const options = { sort: { _id: 1 }, ...(session === undefined ? {} : { session }) } as const;
    const found = await withTranslatedErrors(() => this.#policies.find({}, options).toArray());
    return found.map(({ _id, _meta, ...policy }) => ({ id: _id, policy }));
  }

  /** How many policies apply in a mode. */
  count(mode: ServerMode): Promise<number> {
    return withTranslatedErrors(() => this.#policies.countDocuments({ mode: { $in: [null, mode] } }));
  }

  /** The newest version, or null if there never was one. */
  async newest(session?: ClientSession): Promise<number | null> {
    const options = {
      sort: { _id: -1 },
      projection: { _id: 1 },
      ...(session === undefined ? {} : { session }),
    } as const;
    const found = await withTranslatedErrors(() => this.#versions.findOne({}, options));
    return found === null ? null : found._id;
  }

  /** The stored versions, newest first. */
  async versions(): Promise<readonly PolicyVersion[]> {
    const found = await withTranslatedErrors(() => this.#versions.find({}, { sort: { _id: -1 } }).toArray());
    return found.map(({ _id, ...version }) => ({ version: _id, ...version }));
  }

  /**
   * Changes one set into another within a transaction: writes the differences, and stores the whole as the next
   * version.
   * @returns the number of the version
   */
  async change(
    before: readonly PolicyRecord[],
    after: readonly PolicyRecord[],
    stamp: ChangeStamp,
    session: ClientSession,
  ): Promise<number> {
    const now = new Date();
    const old = new Map(before.map(({ id, policy }) => [id, policy]));
    for (const { id, policy } of after) {
      const text = JSON.stringify(policy);
      if (JSON.stringify(old.get(id)) === text) continue;
      await this.#policies.updateOne({ _id: id }, written(policy, now, stamp), { upsert: true, session });
    }
    const gone = [...old.keys()].filter((id) => !after.some((policy) => policy.id === id));
    if (gone.length > 0) {
      await this.#policies.updateMany({ _id: { $in: gone } }, { $set: stampDeletion(stamp) }, { session });
      await this.#policies.deleteMany({ _id: { $in: gone } }, { session });
    }
    const version = ((await this.newest(session)) ?? 0) + 1;
    await this.#versions.insertOne({ _id: version, at: now, by: stamp.by, policies: [...after] }, { session });
    await this.#versions.deleteMany({ _id: { $lte: version - MAX_VERSIONS } }, { session });
    return version;
  }
}

/** The update that turns a document into this policy, with the time and the number of its changes. */
function written(policy: unknown, now: Date, stamp: ChangeStamp): Document[] {
  const who = actorIdWithoutKind(stamp.by);
  const _meta = {
    revision: { $add: [{ $ifNull: ['$_meta.revision', 0] }, 1] },
    createdAt: { $ifNull: ['$_meta.createdAt', now] },
    updatedAt: now,
    createdBy: { $ifNull: ['$_meta.createdBy', { $literal: who }] },
    updatedBy: { $literal: who },
    by: { $literal: stamp.by },
    request: { $literal: stamp.request },
  };
  return [{ $replaceWith: { $mergeObjects: [{ _id: '$_id' }, { $literal: policy }, { _meta }] } }];
}
