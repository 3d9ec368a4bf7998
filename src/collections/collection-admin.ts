/**
 * Lists collections with their sizes, drops and renames them. Dropping and renaming are events like any other,
 * `todos.dropped` and `todos.renamed`.
 */
import type { Document } from 'mongodb';
import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import {
  type CollectionName,
  type ForeignCollectionName,
  isCollectionName,
} from '../database/parse-collection-name.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Scope } from '../policies/scope.ts';
import type { CollectionRegistry } from './collection-registry.ts';
import { collectionNotAvailable } from './document-errors.ts';

/** Concurrent size queries. */
const AT_ONCE = 8;

export interface CollectionSummary {
  readonly name: CollectionName | ForeignCollectionName;
  /** The database's own estimate, computed without reading documents; inexact after a crash of the database. */
  readonly documents: number;
  /** Size of the documents as BSON. */
  readonly bytes: number;
  /** Number of indexes besides the one by id, including kinds that only other programs create. */
  readonly indexes: number;
  readonly kind: CollectionType;
}

/** Kinds of collections. Only other programs create capped collections, time series and views. */
export const COLLECTION_TYPES = ['collection', 'capped', 'timeseries', 'view'] as const;

export type CollectionType = (typeof COLLECTION_TYPES)[number];

export class CollectionAdmin {
  readonly #mongo: Mongo;
  readonly #registry: CollectionRegistry;

  constructor(mongo: Mongo, registry: CollectionRegistry) {
    this.#mongo = mongo;
    this.#registry = registry;
  }

  /** All collections that clients can name, sorted by name. A view stores nothing itself: its numbers are 0. */
  async list(_scope: Scope<'read', '_admin'>): Promise<readonly CollectionSummary[]> {
    return this.#summaries(await this.#registry.names());
  }

  /** Collections of other programs that clients cannot name: they must be renamed, or exposed through a view. */
  async listOthers(_scope: Scope<'read', '_admin'>): Promise<readonly CollectionSummary[]> {
    return this.#summaries(await this.#registry.otherNames());
  }

  async #summaries(names: readonly (CollectionName | ForeignCollectionName)[]): Promise<readonly CollectionSummary[]> {
    const found: CollectionSummary[] = [];
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const summaries = await Promise.all(names.slice(at, at + AT_ONCE).map((name) => this.#summary(name)));
      found.push(...summaries.filter((summary) => summary !== null));
    }
    return found;
  }

  /**
   * Deletes a collection with all its documents and indexes.
   * @throws MillraceError `resource-not-available`
   */
  async drop(_scope: Scope<'delete', '_admin'>, name: CollectionName): Promise<void> {
    if (!(await this.#registry.exists(name))) throw collectionNotAvailable(name);
    await withTranslatedErrors(() => this.#mongo.data.collection(name).drop());
    this.#registry.forget(name);
  }

  /**
   * Renames a collection. An existing collection is never overwritten.
   * @throws MillraceError `resource-not-available`, `collection-exists`
   */
  async rename(
    _scope: Scope<'update', '_admin'>,
    name: CollectionName | ForeignCollectionName,
    to: CollectionName,
  ): Promise<CollectionSummary> {
    if (name !== to) {
      try {
        await this.#mongo.data.renameCollection(name, to);
      } catch (error) {
        if (mongoErrorCode(error) === MONGO_ERROR_CODES.namespaceNotFound) throw collectionNotAvailable(name);
        if (mongoErrorCode(error) !== MONGO_ERROR_CODES.namespaceExists)
          return withTranslatedErrors(() => Promise.reject(error));
        throw new MillraceError('collection-exists', `A collection '${to}' exists already`, { cause: error });
      }
      if (isCollectionName(name)) this.#registry.forget(name);
    }
    const summary = await this.#summary(to);
    if (summary === null) throw collectionNotAvailable(to);
    return summary;
  }

  /** Null for a collection that was dropped after it was listed. */
  async #summary(name: CollectionName | ForeignCollectionName): Promise<CollectionSummary | null> {
    return withTranslatedErrors(async () => {
      try {
        const stages = [{ $collStats: { storageStats: {} } }];
        const [stats] = await this.#mongo.data.collection(name).aggregate(stages).toArray();
        return summaryOf(name, stats?.['storageStats'] ?? {});
      } catch (error) {
        const code = mongoErrorCode(error);
        if (code === MONGO_ERROR_CODES.namespaceNotFound) return null;
        if (code === MONGO_ERROR_CODES.commandNotSupportedOnView)
          return { name, documents: 0, bytes: 0, indexes: 0, kind: 'view' };
        throw error;
      }
    });
  }
}

function summaryOf(name: CollectionName | ForeignCollectionName, stats: Document): CollectionSummary {
  const { count = 0, size = 0, nindexes = 0, capped, timeseries, clustered } = stats;
  // These two kinds keep their documents in id order without an index.
  const ofId = timeseries !== undefined || clustered === true ? 0 : 1;
  return {
    name,
    documents: Number(count),
    bytes: Number(size),
    indexes: Math.max(0, Number(nindexes) - ofId),
    kind: timeseries !== undefined ? 'timeseries' : capped === true ? 'capped' : 'collection',
  };
}
