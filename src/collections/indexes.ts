/**
 * Lists the indexes of a collection and changes them to a requested list in place. New ones are built before any is
 * dropped, so a list that cannot be built changes nothing; reads and writes continue meanwhile.
 */
import type { IndexDescription } from 'mongodb';
import { CODE, duplicateKey, serverCode, translated, uniqueViolation } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import type { CollectionName } from '../database/names.ts';
import { KeyedQueues } from '../lib/concurrency/keyed-queue.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Scope } from '../policies/scope.ts';
import { notAvailable } from './document-errors.ts';
import {
  type ExistingIndex,
  fromDatabase,
  type Index,
  indexKeyOf,
  indexNames,
  listed,
  planIndexes,
} from './index-plan.ts';
import { type IndexUse, UNKNOWN_USE, usesOfIndexes } from './index-use.ts';
import type { Registry } from './registry.ts';
import type { SortIndexes } from './store/sort-indexes.ts';

export class Indexes {
  readonly #mongo: Mongo;
  readonly #registry: Registry;
  readonly #sortIndexes: SortIndexes;
  readonly #queues = new KeyedQueues();

  constructor(mongo: Mongo, registry: Registry, sortIndexes: SortIndexes) {
    this.#mongo = mongo;
    this.#registry = registry;
    this.#sortIndexes = sortIndexes;
  }

  /** @throws MillraceError `resource-not-available` when the collection was never created */
  async list(_scope: Scope<'read', '_admin'>, name: CollectionName): Promise<readonly (Index & IndexUse)[]> {
    const existing = await this.#existing(name);
    if (existing === null) throw notAvailable(name);
    if (existing.length === 0) return [];
    const uses = await usesOfIndexes(this.#mongo, name);
    return listed(existing).map((one) => ({ ...one.index, ...(uses.get(one.name) ?? UNKNOWN_USE) }));
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
        const names = indexNames(
          create,
          existing.map((index) => index.name),
        );
        const descriptions = create.map((index, at) => toDescription(index, names[at]));
        await refusing(() => translated(() => collection.createIndexes(descriptions)));
      }
      for (const index of drop) await translated(() => collection.dropIndex(index));
      this.#sortIndexes.forget(name);
      return listed((await this.#existing(name)) ?? []).map(({ index }) => index);
    });
  }

  /** Null when there is no such collection. */
  async #existing(name: CollectionName): Promise<readonly ExistingIndex[] | null> {
    return translated(async () => {
      try {
        const described = await this.#mongo.data.collection(name).listIndexes().toArray();
        return described.flatMap((index) => fromDatabase(index) ?? []);
      } catch (error) {
        if (serverCode(error) === CODE.namespaceNotFound) return null;
        // A view has no indexes of its own.
        if (serverCode(error) === CODE.commandNotSupportedOnView) return [];
        throw error;
      }
    });
  }
}

function toDescription(index: Index, name = ''): IndexDescription {
  const { unique, sparse } = index;
  return { key: indexKeyOf(index), name, ...(unique ? { unique } : {}), ...(sparse ? { sparse } : {}) };
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
    if (IMPOSSIBLE.has(serverCode(cause) ?? 0)) {
      throw new MillraceError('index-build-failed', 'The database cannot build this index', {
        hint: 'An index may include only one array of each document, and a collection may have 64 indexes',
        cause,
      });
    }
    throw error;
  }
}

const IMPOSSIBLE: ReadonlySet<number> = new Set([
  CODE.cannotCreateIndex,
  CODE.indexOptionsConflict,
  CODE.indexKeySpecsConflict,
  CODE.parallelArrays,
  CODE.ambiguousPath,
]);
