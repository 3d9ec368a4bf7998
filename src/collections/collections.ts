/**
 * Operations on documents. Every operation takes a Scope. Every change of one document is a compare-and-replace of the
 * exact stored value, retried when another write came first. It needs no transaction, and can be part of one.
 */
import type { Document } from 'mongodb';
import { quotaIdOf, stampFromPrincipal } from '../auth/identity/principal.ts';
import { decodeDocumentId, decodeExactDocument, decodeExactDocumentMap } from '../database/bson/stored-document.ts';
import { duplicateKey, translateError } from '../database/errors.ts';
import { idText } from '../database/json/ids.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';
import { FairSemaphore } from '../lib/concurrency/fair-semaphore.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Scope } from '../policies/scope.ts';
import { includesAllDocuments, isDatabaseFilterExact, toDatabaseFilter } from '../policies/scope-filter.ts';
import type { Query } from '../query/parse/query.ts';
import type { Quotas } from '../quotas/quotas.ts';
import type { CollectionRegistry } from './collection-registry.ts';
import { collectionNotAvailable, documentTooBusy, duplicateKeyError } from './document-errors.ts';
import { DocumentLookup } from './document-lookup.ts';
import type { TransactionContext } from './open-transaction.ts';
import { MAX_WRITE_ATTEMPTS, OptimisticRetry } from './optimistic-retry.ts';
import { visibleDocument, visibleDocumentTag } from './read/document-view.ts';
import { type ExpandDocuments, ExpansionBudget, type ExpansionOptions, expandDocumentBatch } from './read/expansion.ts';
import { type DocumentList, type ListDeps, readList } from './read/list.ts';
import { type ListedQuery, ListHints, type ListHintsDeps } from './read/list-hints.ts';
import { type DocumentSample, hasReadableDocumentWithId, type SampleSize, sampleDocuments } from './read/sampling.ts';
import { type EtagDocument, encodeStoredDocument, withEtag } from './store/etag-document.ts';
import { checkPreconditions, HIDDEN_DOCUMENT_TAG, NO_PRECONDITIONS } from './store/preconditions.ts';
import { isComparableDocument, MAX_COMPARED_BYTES, toStoredChange } from './store/stored-change.ts';
import type { TransactionRunner } from './transaction-runner.ts';
import type { JsonObject } from './write/build-document.ts';
import type { RequestedChange } from './write/requested-change.ts';
import type { WriteContext, WriteScopes } from './write-context.ts';
import type { WriteAction, WriteHooks } from './write-hooks.ts';
import {
  onlyOne,
  prepareCreates,
  prepareDeletes,
  prepareUpdates,
  toPipelineContext,
  type WritePipelineContext,
} from './write-pipeline.ts';

export interface CollectionsDeps extends ListDeps, ListHintsDeps {
  readonly registry: CollectionRegistry;
  readonly atomic: TransactionRunner;
  /** Bytes that `expand` may add to one response. */
  readonly expandBytes: number;
  /** Quota of what a principal creates, if any. */
  readonly quotas?: Quotas | undefined;
  /** Write hooks, if any. */
  readonly hooks?: WriteHooks | undefined;
  readonly now?: () => Date;
}

export class Collections {
  readonly #deps: CollectionsDeps;
  readonly #hints: ListHints;
  readonly #lookup: DocumentLookup;
  readonly #attempts = new OptimisticRetry();
  /** Reads of referenced documents. */
  readonly #lookups = new FairSemaphore(4, 2);

  constructor(deps: CollectionsDeps) {
    this.#deps = deps;
    this.#hints = new ListHints(deps);
    this.#lookup = new DocumentLookup(deps.store, deps.registry);
  }

  /**
   * The documents that match a query, after the first batch has been read.
   * @param within the transaction whose writes it must see, if any
   * @param isEncoded true if the caller encodes only the visible fields; otherwise hidden ones are removed here
   * @throws MillraceError `resource-not-available` when the collection was never created, and those of {@link readList}
   */
  async list(
    scope: Scope<'read'>,
    name: CollectionName,
    query: Query,
    within?: TransactionContext,
    isEncoded = false,
  ): Promise<DocumentList> {
    const { store, registry } = this.#deps;
    const reads = within && store.within(within.session);
    const list = await readList({ scope, name, query, now: this.#now(), within: reads, isEncoded }, this.#deps);
    const isCertain = list.documents.length > 0 || within?.created.has(name) === true;
    if (!isCertain && !(await registry.exists(name))) throw collectionNotAvailable(name);
    return list;
  }

  /** Sentences about a list that is probably not the intended one. They are for people, and cost additional reads. */
  listHints(listed: ListedQuery): Promise<readonly string[]> {
    return this.#hints.of(listed, this.#now());
  }

  /**
   * Serializes documents with the documents they reference, for one response: the text of each in pieces.
   * @param client key of the client; reads for several clients alternate by this key
   */
  expander(requested: Omit<ExpansionOptions, 'allowance' | 'inTurn'>, client: string): ExpandDocuments {
    const inTurn = <T>(task: () => Promise<T>) => this.#lookups.run(client, task);
    const how = { ...requested, allowance: new ExpansionBudget(this.#deps.expandBytes), inTurn };
    return (batch, hold) => expandDocumentBatch(this.#deps.store, batch, how, hold);
  }

  /** A sample, bounded in time and bytes. @throws MillraceError `resource-not-available`: it was never created */
  async sample(scope: Scope<'read'>, name: CollectionName, size: SampleSize): Promise<DocumentSample> {
    const sample = await sampleDocuments(this.#deps.store, scope, name, size);
    if (sample.documents.length === 0 && !(await this.#deps.registry.exists(name))) throw collectionNotAvailable(name);
    return sample;
  }

  /** Whether one of these ids belongs to a readable document; false when that takes longer than `timeoutMs`. */
  holdsAny(scope: Scope<'read'>, name: CollectionName, ids: readonly string[], timeoutMs: number): Promise<boolean> {
    return hasReadableDocumentWithId(this.#deps.store, scope, name, ids, timeoutMs);
  }

  /** @throws MillraceError `resource-not-available`, `document-not-found` */
  async get(
    scope: Scope<'read'>,
    name: CollectionName,
    id: string,
    within?: TransactionContext,
  ): Promise<EtagDocument> {
    const raw = await this.#lookup.find(scope, name, id, within);
    const seen = raw === null ? null : await visibleDocument(scope, raw, true);
    if (seen === null) throw await this.#lookup.notFoundError(scope, name, id, undefined, within);
    return seen;
  }

  /** @throws MillraceError `id-exists`, `unique-violation`, `invalid-id`, `unsupported-field-name` */
  async create(
    scope: Scope<'create'>,
    name: CollectionName,
    body: JsonObject,
    write: WriteContext,
  ): Promise<EtagDocument> {
    return this.#insert(scope, name, await this.#newDocument(scope, name, body, write), write);
  }

  async #insert(
    { principal }: Scope,
    name: CollectionName,
    document: Document,
    write: WriteContext,
  ): Promise<EtagDocument> {
    const stored = encodeStoredDocument(document);
    const { store, registry, quotas } = this.#deps;
    const { request, within } = write;
    const hold = await quotas?.reserve(quotaIdOf(principal), request, { documents: 1 }, within?.holds);
    try {
      await (within ? registry.ensureWithin(name, within) : registry.ensure(name));
      await store.insert(name, document, stored.raw.length, within?.session);
    } catch (error) {
      hold?.release();
      throw duplicateKey(error) ? duplicateKeyError(error, document) : translateError(error);
    }
    return { ...stored, createdId: idText(document['_id']) };
  }

  /**
   * Replaces a document; with `upsert` or `If-None-Match: *` a missing one is created.
   * @param scopes for the update and for the creation, at least one of them
   */
  async replace(
    { update, create }: WriteScopes,
    name: CollectionName,
    id: string,
    body: JsonObject,
    write: WriteContext,
  ): Promise<EtagDocument> {
    for (let attempt = 1; ; attempt++) {
      if (update !== null) {
        const replaced = await this.#change(update, name, id, write, { kind: 'replace', body });
        if (replaced) return replaced;
        if (create === null)
          throw await this.#lookup.notFoundError(update, name, id, write.preconditions, write.within);
        checkPreconditions(write.preconditions, null);
      }
      if (create === null) throw new TypeError('A replacement needs a Scope');
      const document = await this.#newDocument(create, name, { ...body, id }, write);
      // A failed insert ends a transaction, so inside one the document is looked up first, by the id alone.
      if (write.within && (await this.#deps.store.find(name, document['_id'], {}, write.within.session)) !== null) {
        if (update === null) await this.#refuseExisting(create, name, id, write);
        throw duplicateKeyError(undefined, document);
      }
      try {
        return await this.#insert(create, name, document, write);
      } catch (error) {
        if (!(error instanceof MillraceError && error.code === 'id-exists')) throw error;
        // Another write created the document first; after that error the transaction cannot continue.
        if (write.within) throw documentTooBusy(id);
        if (update === null) await this.#refuseExisting(create, name, id, write);
        // The Scope does not include the document, or the collation treats another id as equal: a retry changes neither.
        const isHidden = update !== null && attempt > 1 && !includesAllDocuments(update);
        if (isHidden || attempt === MAX_WRITE_ATTEMPTS) throw error;
      }
    }
  }

  /** Changes a document; its fields keep their order. */
  async patch(
    scope: Scope<'update'>,
    name: CollectionName,
    id: string,
    change: RequestedChange,
    write: WriteContext,
  ): Promise<EtagDocument> {
    const changed = await this.#change(scope, name, id, write, change);
    if (changed === null) throw await this.#lookup.notFoundError(scope, name, id, write.preconditions, write.within);
    return changed;
  }

  /** Deletes a document and returns it as it was. */
  async remove(scope: Scope<'delete'>, name: CollectionName, id: string, write: WriteContext): Promise<EtagDocument> {
    const { store } = this.#deps;
    const attempt = async (within = write.within): Promise<EtagDocument | null | undefined> => {
      const raw = await this.#lookup.find(scope, name, id, within);
      if (raw === null) return null;
      // Its id and its stamp are enough: a document that could not be written back unchanged can still be deleted.
      const stored = decodeDocumentId(raw);
      const before = withEtag(raw);
      if (write.preconditions !== NO_PRECONDITIONS)
        checkPreconditions(write.preconditions, await visibleDocumentTag(scope.reader, raw));
      const pipeline = this.#pipeline(scope, name, write, within);
      // Hooks must have seen what is deleted. A transaction also protects values that cannot be compared.
      const isShown = pipeline.hooks.length > 0 && within === undefined;
      if (isShown && !isComparableDocument(raw)) return this.#deps.atomic.run(attempt);
      await prepareDeletes([{ raw }], pipeline);
      const mustStay = isShown || write.preconditions.ifMatch !== undefined || !isDatabaseFilterExact(scope);
      const unchanged = mustStay ? decodeExactDocumentMap(raw) : undefined;
      const stamp = stampFromPrincipal(scope, write.request);
      const removed =
        (await store.stamp(name, stored, stamp, toDatabaseFilter(scope), unchanged, within?.session)) &&
        (await store.removeStamped(name, stored, write.request, within?.session));
      return removed ? before : undefined;
    };
    const removed = await this.#attempts.run(name, id, write, attempt);
    if (removed === null) throw await this.#lookup.notFoundError(scope, name, id, write.preconditions, write.within);
    return removed;
  }

  /**
   * One read-modify-write; null when there is no such document. Fields keep their order, unless all are new. A change
   * without effect is checked like any other, and leaves the document as it is.
   */
  #change(
    scope: Scope<'update'>,
    name: CollectionName,
    id: string,
    write: WriteContext,
    change: RequestedChange,
  ): Promise<EtagDocument | null> {
    const attempt = async (within = write.within): Promise<EtagDocument | null | undefined> => {
      const raw = await this.#lookup.find(scope, name, id, within);
      if (raw === null) return null;
      const old = decodeExactDocument(raw);
      // Only a conditional write needs the entity tag of what it replaces.
      if (write.preconditions !== NO_PRECONDITIONS)
        checkPreconditions(write.preconditions, await visibleDocumentTag(scope.reader, raw));
      const [final] = await prepareUpdates(scope, change, [{ raw, old }], this.#pipeline(scope, name, write, within));
      const changed = toStoredChange(raw, old, onlyOne(final).next, change.kind);
      // Both states do not fit into one command: a transaction protects the state that was read instead.
      if (within === undefined && changed.bytes > MAX_COMPARED_BYTES) return this.#deps.atomic.run(attempt);
      const replaced = await this.#deps.store.change(name, changed, write.preconditions, within?.session);
      return replaced ? changed.result : undefined;
    };
    return this.#attempts.run(name, id, write, attempt);
  }

  /** Rejects the creation of a document that exists; the error has its tag if the Scope includes the document. */
  async #refuseExisting({ reader }: Scope, name: CollectionName, id: string, write: WriteContext): Promise<void> {
    const raw = reader === null ? null : await this.#lookup.find(reader, name, id, write.within);
    checkPreconditions(write.preconditions, raw === null ? HIDDEN_DOCUMENT_TAG : await visibleDocumentTag(reader, raw));
  }

  #now(): Date {
    return this.#deps.now?.() ?? new Date();
  }

  /** The document that a create stores. */
  async #newDocument(
    scope: Scope<'create'>,
    name: CollectionName,
    body: JsonObject,
    write: WriteContext,
  ): Promise<Document> {
    const [document] = await prepareCreates(scope, [body], this.#pipeline(scope, name, write));
    return onlyOne(document);
  }

  #pipeline(
    scope: Scope<WriteAction>,
    name: CollectionName,
    { request, within: own }: WriteContext,
    within = own,
  ): WritePipelineContext {
    return toPipelineContext(this.#deps.hooks, scope, name, { request, now: this.#now() }, within);
  }
}
