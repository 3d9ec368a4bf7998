/**
 * Writes of many documents in one transaction: all of them are created or changed, or none. For a write by filter the
 * client states how many documents may be affected, and this file bounds that number.
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import { quotaIdOf, stampFromPrincipal } from '../auth/identity/principal.ts';
import { decodeDocument, decodeDocumentId } from '../database/bson/stored-document.ts';
import { duplicateKey, translateError } from '../database/errors.ts';
import { idText } from '../database/json/ids.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';
import { mapCooperatively, runCooperatively } from '../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Scope } from '../policies/scope.ts';
import { grantsForDocumentAsync } from '../policies/scope-filter.ts';
import type { DocumentMatcher } from '../query/evaluate/match.ts';
import type { Quotas } from '../quotas/quotas.ts';
import { type BulkTarget, bulkWriteFilter, compileBulkWriteMatcher } from './bulk-filter.ts';
import type { CollectionRegistry } from './collection-registry.ts';
import { collectionNotAvailable, duplicateKeyError } from './document-errors.ts';
import type { TransactionContext } from './open-transaction.ts';
import { type EtagDocument, encodeStoredDocument } from './store/etag-document.ts';
import type { DocumentStore } from './store/store.ts';
import { toStoredChange } from './store/stored-change.ts';
import type { TransactionRunner } from './transaction-runner.ts';
import type { JsonObject } from './write/build-document.ts';
import type { RequestedChange } from './write/requested-change.ts';
import type { WriteContext } from './write-context.ts';
import type { WriteHooks } from './write-hooks.ts';
import {
  type AnnotateWriteError,
  prepareCreates,
  prepareDeletes,
  prepareUpdates,
  type StoredState,
  toPipelineContext,
} from './write-pipeline.ts';

/** Documents of one bulk create. */
export const MAX_BULK_DOCUMENTS = 1_000;
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

export interface BulkWritesDeps {
  readonly store: DocumentStore;
  readonly registry: CollectionRegistry;
  readonly atomic: TransactionRunner;
  /** Quota of what a principal creates, if any. */
  readonly quotas?: Quotas | undefined;
  /** Write hooks, if any. */
  readonly hooks?: WriteHooks | undefined;
  readonly now?: () => Date;
}

export class BulkWrites {
  readonly #deps: BulkWritesDeps;

  constructor(deps: BulkWritesDeps) {
    this.#deps = deps;
  }

  /** Creates all documents in order, or none. */
  async create(
    scope: Scope<'create'>,
    name: CollectionName,
    bodies: readonly JsonObject[],
    write: WriteContext,
  ): Promise<readonly EtagDocument[]> {
    if (bodies.length > MAX_BULK_DOCUMENTS) {
      throw new MillraceError('too-many-documents', `${bodies.length} documents, ${MAX_BULK_DOCUMENTS} at most`);
    }
    const atIndex = (error: unknown, _body: JsonObject, index: number) =>
      error instanceof MillraceError ? error.at(`/${index}`) : error;
    const origin = { request: write.request, now: this.#now() };
    const pipeline = toPipelineContext(this.#deps.hooks, scope, name, origin, write.within);
    const documents = await prepareCreates(scope, bodies, pipeline, atIndex);
    const [creator, created] = [quotaIdOf(scope.principal), { documents: documents.length }];
    await this.#deps.atomic.run(async (within) => {
      await this.#deps.quotas?.reserve(creator, write.request, created, within.holds);
      await this.#deps.registry.ensureWithin(name, within);
      await this.#deps.store.insertMany(name, documents, within.session).catch((error: unknown) => {
        const index = duplicateKey(error)?.index;
        throw index === undefined ? error : duplicateKeyError(error, documents[index]).at(`/${index}`);
      });
    }, write.within);
    return documents.map(encodeStoredDocument);
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
    return this.#within(scope, name, requested, write, now, async (ids, within) => {
      const { session } = within;
      const pipeline = toPipelineContext(this.#deps.hooks, scope, name, { request: write.request, now }, within);
      let modified = 0;
      // A batch of the cursor is at most 16 MB, whatever the number of documents.
      for await (const batch of store.within(session).byIds(name, ids)) {
        const stored = batch.map((raw) => ({ raw }));
        const final = await prepareUpdates(scope, change, stored, pipeline, ofDocument(scope.reader));
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
    return this.#within(scope, name, requested, write, now, async (ids, within) => {
      const { session } = within;
      const pipeline = toPipelineContext(this.#deps.hooks, scope, name, { request: write.request, now }, within);
      // Only hooks need the documents.
      for await (const batch of pipeline.hooks.length === 0 ? [] : store.within(session).byIds(name, ids)) {
        const stored = batch.map((raw) => ({ raw }));
        await prepareDeletes(stored, pipeline, ofDocument(scope.reader));
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
    work: (ids: readonly unknown[], within: TransactionContext) => Promise<number>,
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
    { session }: TransactionContext,
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

function tooLarge(): MillraceError {
  const most = MAX_BYTES / 1024 / 1024;
  return new MillraceError(
    'too-many-affected',
    `The documents are larger than ${most} MiB together; none were changed`,
    { hint: 'Narrow the filter, and write them in smaller parts' },
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
