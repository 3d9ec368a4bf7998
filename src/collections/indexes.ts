/**
 * Lists the indexes of a collection and changes them to a requested list in place. New ones are built before any is
 * dropped, so a list that cannot be built changes nothing; reads and writes continue meanwhile.
 */
import type { IndexDescription } from 'mongodb';
import {
  duplicateKey,
  MONGO_ERROR_CODES,
  mongoErrorCode,
  uniqueViolation,
  withTranslatedErrors,
} from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';
import { KeyedQueues } from '../lib/concurrency/keyed-queue.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Scope } from '../policies/scope.ts';
import type { CollectionRegistry } from './collection-registry.ts';
import { collectionNotAvailable } from './document-errors.ts';
import {
  type ExistingIndex,
  generateIndexNames,
  type Index,
  parseDatabaseIndex,
  planIndexes,
  removeDuplicateIndexes,
  toIndexKeyPattern,
} from './index-plan.ts';
import { type IndexUsage, readIndexUsage, UNKNOWN_INDEX_USAGE } from './index-usage.ts';
import type { SortIndexes } from './store/sort-indexes.ts';

export class Indexes {
  readonly #mongo: Mongo;
  readonly #registry: CollectionRegistry;
  readonly #sortIndexes: SortIndexes;
  readonly #queues = new KeyedQueues();

  constructor(mongo: Mongo, registry: CollectionRegistry, sortIndexes: SortIndexes) {
    this.#mongo = mongo;
    this.#registry = registry;
    this.#sortIndexes = sortIndexes;
  }

  /** @throws MillraceError `resource-not-available` when the collection was never created */
  async list(_scope: Scope<'read', '_admin'>, name: CollectionName): Promise<readonly (Index & IndexUsage)[]> {
    const existing = await this.#existing(name);
    if (existing === null) throw collectionNotAvailable(name);
    if (existing.length === 0) return [];
    const uses = await readIndexUsage(this.#mongo, name);
    return removeDuplicateIndexes(existing).map((one) => ({
      ...one.index,
      ...(uses.get(one.name) ?? UNKNOWN_INDEX_USAGE),
    }));
  }

  /**
   * Builds what is missing, then drops what is not wanted any more. The collection is created when it does not exist.
   * @returns the list as it is then
   * @throws MillraceError `unique-violation` when documents that exist would break a unique index, `index-build-failed`
   *   when they cannot be indexed so at all; nothing has changed then
   */
  async replace(
    _scope: Scope<'update', '_admin'>,
    name: CollectionName,
    requested: readonly Index[],
  ): Promise<readonly Index[]> {
    return this.#queues.run(name, async () => {
      await this.#registry.ensure(name);
      const existing = (await this.#existing(name)) ?? [];
      const { create, drop } = planIndexes(requested, existing);
      const collection = this.#mongo.data.collection(name);
      if (create.length > 0) {
        // One command: the server builds all of the new indexes or none.
        const names = generateIndexNames(
          create,
          existing.map((index) => index.name),
        );
        const descriptions = create.map((index, at) => toDescription(index, names[at]));
        await refusing(() => withTranslatedErrors(() => collection.createIndexes(descriptions)));
      }
      for (const index of drop) await withTranslatedErrors(() => collection.dropIndex(index));
      this.#sortIndexes.forget(name);
      return removeDuplicateIndexes((await this.#existing(name)) ?? []).map(({ index }) => index);
    });
  }

  /** Null when there is no such collection. */
  async #existing(name: CollectionName): Promise<readonly ExistingIndex[] | null> {
    return withTranslatedErrors(async () => {
      try {
        const described = await this.#mongo.data.collection(name).listIndexes().toArray();
        return described.flatMap((index) => parseDatabaseIndex(index) ?? []);
      } catch (error) {
        if (mongoErrorCode(error) === MONGO_ERROR_CODES.namespaceNotFound) return null;
        // A view has no indexes of its own.
        if (mongoErrorCode(error) === MONGO_ERROR_CODES.commandNotSupportedOnView) return [];
        throw error;
      }
    });
  }
}

function toDescription(index: Index, name = ''): IndexDescription {
  const { unique, sparse } = index;
  return { key: toIndexKeyPattern(index), name, ...(unique ? { unique } : {}), ...(sparse ? { sparse } : {}) };
}

async function refusing<T>(build: () => Promise<T>): Promise<T> {
  try {
    return await build();
  } catch (error) {
    const cause = error instanceof MillraceError ? error.cause : error;
    const duplicate = duplicateKey(cause);
    if (duplicate) {
      throw uniqueViolation(duplicate.fields, cause, 'Existing documents have the same');
    }
    if (IMPOSSIBLE.has(mongoErrorCode(cause) ?? 0)) {
      throw new MillraceError('index-build-failed', 'The database cannot build this index', {
        hint: 'An index may include only one array of each document, and a collection may have 64 indexes',
        cause,
      });
    }
    throw error;
  }
}

const IMPOSSIBLE: ReadonlySet<number> = new Set([
  MONGO_ERROR_CODES.cannotCreateIndex,
  MONGO_ERROR_CODES.indexOptionsConflict,
  MONGO_ERROR_CODES.indexKeySpecsConflict,
  MONGO_ERROR_CODES.parallelArrays,
  MONGO_ERROR_CODES.ambiguousPath,
]);
