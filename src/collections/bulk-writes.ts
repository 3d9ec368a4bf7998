/**
 * Writes to all documents that match a filter, in one transaction: all of them change, or none. The client states how
 * many documents may be affected, and this file bounds that number.
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { stampFromPrincipal } from '../auth/identity/principal.ts';
import { decodeDocument, decodeDocumentId } from '../database/bson/stored-document.ts';
import type { CollectionName } from '../database/collection-names.ts';
import { duplicateKey, translateError } from '../database/errors.ts';
import { idText } from '../database/json/ids.ts';
import { mapCooperatively, runCooperatively } from '../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../lib/errors.ts';
import { principalBindings } from '../policies/bindings.ts';
import type { Scope } from '../policies/scope.ts';
import {
  combineScopeFilters,
  fieldHidden,
  grantsForDocumentAsync,
  isDatabaseFilterExact,
  isInScope,
  requireFilterableFields,
} from '../policies/scope-filter.ts';
import { bindVariables } from '../query/evaluate/bind-variables.ts';
import { compileMatcher, type DocumentMatcher } from '../query/evaluate/match.ts';
import { isServerMatchReliable } from '../query/evaluate/regex-reliability.ts';
import { type Filter, pathsInFilter, type UnboundFilter } from '../query/filter.ts';
import type { CollectionRegistry } from './collection-registry.ts';
import { collectionNotAvailable, duplicateKeyError } from './document-errors.ts';
import type { OpenTransaction } from './open-transaction.ts';
import type { DocumentStore } from './store/store.ts';
import { toStoredChange } from './store/stored-change.ts';
import type { TransactionRunner } from './transaction-runner.ts';
import type { RequestedChange } from './write/change-types.ts';
import type { WriteContext } from './write-context.ts';
import type { WriteHooks } from './write-hooks.ts';
import {
  type AnnotateWriteError,
  finalizeDeletes,
  finalizeUpdates,
  type StoredState,
  toPipelineContext,
} from './write-pipeline.ts';

/** Documents that one transaction may change by filter. */
const MAX_AFFECTED = 10_000;
/**
 * Total size of those documents in bytes. The database keeps a transaction in its cache until it ends. A transaction
 * that does not fit there fails with a conflict although no other transaction touches its documents, and every retry
 * fails the same way. This size fits the embedded server (decisions/0004).
 */
const MAX_BYTES = 24 * 1024 * 1024;
/**
 * Bytes of documents from which a transaction is large: large transactions run one at a time (transaction-runner.ts).
 */
const LARGE_BYTES = 1024 * 1024;

export interface AffectedCounts {
  readonly matched: number;
  /** Documents whose state differs from the one before. */
  readonly modified: number;
}

/** The filter, and the maximum number of affected documents. */
export interface BulkTarget {
  readonly filter: UnboundFilter;
  readonly maxAffected: number;
}

export interface BulkWritesDeps {
  readonly store: DocumentStore;
  readonly registry: CollectionRegistry;
  readonly atomic: TransactionRunner;
  /** Write hooks, if any. */
  readonly hooks?: WriteHooks | undefined;
  readonly now?: () => Date;
}

export class FilterWrites {
  readonly #deps: BulkWritesDeps;

  constructor(deps: BulkWritesDeps) {
    this.#deps = deps;
  }

  /**
   * Changes every document that the filter matches; each new state must be within the Scope too. The filter may use
   * readable fields only and matches readable documents only: otherwise the count would reveal something about the
   * others.
   * @throws MillraceError `too-many-affected`, `resource-not-available`, `overloaded` when too many large writes wait,
   * and what the change throws
   */
  patch(
    scope: Scope<'update'>,
    name: CollectionName,
    requested: BulkTarget,
    change: RequestedChange,
    write: WriteContext,
  ): Promise<AffectedCounts> {
    const { store } = this.#deps;
    const now = this.#now();
    const origin = { principal: scope.principal, request: write.request, now };
    return this.#within(scope, name, requested, write, now, async (ids, within) => {
      const { session } = within;
      const pipeline = toPipelineContext(this.#deps.hooks, scope.action, name, origin, within);
      let modified = 0;
      // A batch of the cursor is at most 16 MB, whatever the number of documents.
      for await (const batch of store.within(session).byIds(name, ids)) {
        const stored = batch.map((raw) => ({ raw }));
        const final = await finalizeUpdates(scope, change, stored, pipeline, ofDocument(scope.reader));
        // The final documents are in the order of the stored ones.
        const changes = await mapCooperatively(final.entries(), ([index, { old, next }]) => {
          const raw = batch[index];
          if (raw === undefined || old === null) throw new TypeError('A stored document is missing');
          return toStoredChange(raw, old, next, change.kind);
        });
        modified += changes.filter(({ unchanged }) => !unchanged).length;
        try {
          await store.replaceMany(name, changes, session);
        } catch (error) {
          throw duplicateKey(error) ? duplicateKeyError(error, undefined) : translateError(error);
        }
      }
      return modified;
    });
  }

  /**
   * Deletes every document that the filter matches.
   * @throws MillraceError `too-many-affected`, `resource-not-available`, `overloaded` when too many large writes wait
   */
  remove(
    scope: Scope<'delete'>,
    name: CollectionName,
    requested: BulkTarget,
    write: WriteContext,
  ): Promise<AffectedCounts> {
    const { store } = this.#deps;
    const now = this.#now();
    const stamp = stampFromPrincipal(scope, write.request);
    const origin = { principal: scope.principal, request: write.request, now };
    return this.#within(scope, name, requested, write, now, async (ids, within) => {
      const { session } = within;
      const pipeline = toPipelineContext(this.#deps.hooks, scope.action, name, origin, within);
      // Only hooks need the documents.
      for await (const batch of pipeline.hooks.length === 0 ? [] : store.within(session).byIds(name, ids)) {
        const stored = batch.map((raw) => ({ raw }));
        await finalizeDeletes(stored, pipeline, ofDocument(scope.reader));
      }
      await store.removeMany(name, ids, stamp, session);
      return ids.length;
    });
  }

  #within(
    scope: Scope<'update' | 'delete'>,
    name: CollectionName,
    requested: BulkTarget,
    write: WriteContext,
    now: Date,
    work: (ids: readonly unknown[], within: OpenTransaction) => Promise<number>,
  ): Promise<AffectedCounts> {
    const { store, registry, atomic } = this.#deps;
    const filter = bulkWriteFilter(scope, requested, now);
    const match = compileBulkWriteMatcher(scope, requested, now);
    return atomic.run(async (within) => {
      const most = Math.min(requested.maxAffected, MAX_AFFECTED - within.changedDocuments);
      const { ids: found, bytes } = await store.ids(name, filter, most + 1, within.session);
      if (found.length > most) throw tooMany(requested.maxAffected);
      const ids = match === null ? found : await this.#matching(name, found, match, within);
      if (ids.length === 0 && !within.created.has(name) && !(await registry.exists(name)))
        throw collectionNotAvailable(name);
      within.changedDocuments += ids.length;
      within.bytes += bytes;
      if (within.bytes > MAX_BYTES) throw tooLarge();
      if (within.bytes > LARGE_BYTES && !within.large) {
        within.needsLargeLock = true;
        throw new MillraceError('overloaded', 'A large write must wait for other large writes');
      }
      return { matched: ids.length, modified: ids.length > 0 ? await work(ids, within) : 0 };
    }, write.within);
  }

  /** The documents that really match: the database may have returned too many. */
  async #matching(
    name: CollectionName,
    found: readonly unknown[],
    match: DocumentMatcher,
    { session }: OpenTransaction,
  ): Promise<readonly unknown[]> {
    const ids: unknown[] = [];
    for await (const batch of this.#deps.store.within(session).byIds(name, found)) {
      for (const raw of batch) {
        if (await runCooperatively(() => match(decodeDocument(raw)))) ids.push(decodeDocumentId(raw));
        await otherWork();
      }
    }
    return ids;
  }

  #now(): Date {
    return this.#deps.now?.() ?? new Date();
  }
}

/** The filter of a query, with the principal's values for its variables. */
function boundFilter({ principal }: Scope, { filter }: Pick<BulkTarget, 'filter'>, now: Date): Filter {
  return bindVariables(filter, principalBindings(principal, now)).filter;
}

/**
 * The filter of a write. It may use readable fields only, and is combined with the filter of readable documents: the
 * number of affected documents would reveal something about the others. A filter by id alone is exempt, because the
 * client knows that id.
 * @throws MillraceError `field-hidden`
 */
function bulkWriteFilter(scope: Scope<'update' | 'delete'>, query: Pick<BulkTarget, 'filter'>, now: Date): Document {
  const requested = boundFilter(scope, query, now);
  const { reader } = scope;
  const [path, ...others] = [...pathsInFilter(query.filter)].filter((one) => one !== '_id');
  if (path === undefined) return combineScopeFilters(requested, scope);
  if (reader === null) throw fieldHidden(path);
  requireFilterableFields(reader, [path, ...others]);
  return combineScopeFilters(requested, reader, scope);
}

/**
 * The filter of {@link bulkWriteFilter} as a test in memory, for writes where the database may have returned too many
 * documents; null where the database's result is certain.
 */
function compileBulkWriteMatcher(
  scope: Scope<'update' | 'delete'>,
  query: Pick<BulkTarget, 'filter'>,
  now: Date,
): DocumentMatcher | null {
  const requested = boundFilter(scope, query, now);
  const { reader } = scope;
  const readers = reader === null || [...pathsInFilter(query.filter)].every((path) => path === '_id') ? [] : [reader];
  const scopes = [scope, ...readers];
  if (isServerMatchReliable(requested) && scopes.every(isDatabaseFilterExact)) return null;
  const match = compileMatcher(requested);
  return (document) => match(document) && scopes.every((one) => isInScope(one, document));
}

function tooLarge(): MillraceError {
  const most = MAX_BYTES / 1024 / 1024;
  return new MillraceError(
    'too-many-affected',
    `The documents are larger than ${most} MiB together; none were changed`,
    {
      hint: 'Narrow the filter, and write them in smaller parts',
    },
  );
}

function tooMany(maxAffected: number): MillraceError {
  const most = Math.min(maxAffected, MAX_AFFECTED);
  return new MillraceError('too-many-affected', `The filter matches more than ${most} documents; none were changed`, {
    hint: maxAffected < MAX_AFFECTED ? 'Raise max-affected, or narrow the filter' : `At most ${MAX_AFFECTED} at once`,
  });
}

/**
 * Adds the id of the failing document to an error, because one document can stop all the changes. The id is added only
 * if the reader's Scope includes that document.
 */
function ofDocument(reader: Scope<'read'> | null): AnnotateWriteError<StoredState> {
  return async (error, { raw }) => {
    if (!(error instanceof MillraceError) || reader === null) return error;
    const old = decodeDocument(raw);
    if ((await grantsForDocumentAsync(reader, old)).length === 0) return error;
    return error.with({ message: `Document '${idText(old['_id'])}': ${error.message}` });
  };
}
