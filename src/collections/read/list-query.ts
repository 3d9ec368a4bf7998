/**
 * Lists of documents: turns a query and a Scope into database reads. Without `limit` a list is a stream of all
 * documents; with it, a keyset page that a signed cursor continues.
 */
import type { Document } from 'mongodb';
import { pathHasArray } from '../../database/bson/bson-bytes.ts';
import { decodeNamedFields } from '../../database/bson/partial-decode.ts';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import type { CollectionName } from '../../database/collection-names.ts';
import type { FirstBatch } from '../../database/cursors/find-raw.ts';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { ClosableIterator } from '../../lib/concurrency/closable-iterator.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import type { SigningKeys } from '../../lib/signing-keys.ts';
import { principalBindings } from '../../policies/bindings.ts';
import { countInScope, filterPageByScope } from '../../policies/recheck-in-memory.ts';
import type { Scope } from '../../policies/scope.ts';
import {
  combineScopeFilters,
  fieldHidden,
  isDatabaseFilterExact,
  isInScope,
  requireReadablePaths,
} from '../../policies/scope-filter.ts';
import { bindVariables } from '../../query/evaluate/bind-variables.ts';
import { coversAllPaths, type FieldSelection, toMongoProjection } from '../../query/evaluate/fields.ts';
import { compileMatcher, type DocumentMatcher } from '../../query/evaluate/match.ts';
import { isServerMatchReliable } from '../../query/evaluate/regex-reliability.ts';
import { splitPath } from '../../query/field-paths.ts';
import { type Filter, pathsInFilter } from '../../query/filter.ts';
import { decodeCursor, encodeCursor } from '../../query/page/cursor.ts';
import { buildPlainComparisonPageRequest, verifyPlainComparisonPage } from '../../query/page/optimistic-page.ts';
import {
  buildPageRequest,
  exactSortStages,
  type Page,
  type PagePosition,
  type PageRequest,
  slicePage,
  toMongoSortOrStages,
} from '../../query/page/page.ts';
import { requestPageBreakingTies } from '../../query/page/page-without-id-index.ts';
import { isDatabaseSortable, type Sort } from '../../query/page/sort.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import { type Query, queryFingerprint } from '../../query/parse/query.ts';
import type { DocumentReader } from '../store/document-reader.ts';
import type { SortIndexes } from '../store/sort-indexes.ts';
import type { DocumentStore } from '../store/store.ts';
import { addExpandedReferenceFields, selectStoredFields } from './field-selection.ts';
import { createProjection, type Projection } from './projection.ts';

/** Raw documents, and the positions of neighboring pages. */
export interface DocumentList {
  /** The documents of a page, complete in memory; those of a whole list come in batches. */
  readonly documents: readonly Uint8Array[] | ClosableIterator<readonly Uint8Array[]>;
  /** Cursors; null where there is no further page, or the list is not paged. */
  readonly next: string | null;
  readonly prev: string | null;
  readonly count: { readonly kind: 'exact' | 'estimated'; readonly value: number } | null;
  /** Of a page, the stored paths of sort keys that its documents lack ({@link missingSortKeys}). */
  readonly unsorted: readonly string[];
}

/** Documents at the start of a response that are checked for fields that all of them lack. */
export const MAX_CHECKED_DOCUMENTS = 20;

export interface ListReaderDeps {
  readonly store: DocumentStore;
  readonly sortIndexes: SortIndexes;
  readonly queryTimeoutMs: number;
  readonly listTimeoutMs: number;
  /** Signs page cursors. */
  readonly cursorKeys: SigningKeys;
}

/** The filter of a query, with the principal's values for its variables. */
function boundFilter({ principal }: Scope, { filter }: Pick<Query, 'filter'>, now: Date): Filter {
  return bindVariables(filter, principalBindings(principal, now)).filter;
}

/**
 * The filter of a write. It may use readable fields only, and is combined with the filter of readable documents: the
 * number of affected documents would reveal something about the others. A filter by id alone is exempt, because the
 * client knows that id.
 * @throws MillraceError `field-hidden`
 */
export function bulkWriteFilter(scope: Scope<'update' | 'delete'>, query: Pick<Query, 'filter'>, now: Date): Document {
  const requested = boundFilter(scope, query, now);
  const { reader } = scope;
  const [path, ...others] = [...pathsInFilter(query.filter)].filter((one) => one !== '_id');
  if (path === undefined) return combineScopeFilters(requested, scope);
  if (reader === null) throw fieldHidden(path);
  requireReadablePaths(reader, [path, ...others]);
  return combineScopeFilters(requested, reader, scope);
}

/**
 * The filter of {@link bulkWriteFilter} as a test in memory, for writes where the database may have returned too many
 * documents; null where the database's result is certain.
 */
export function compileBulkWriteMatcher(
  scope: Scope<'update' | 'delete'>,
  query: Pick<Query, 'filter'>,
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

/** One page, as far as its request is known. */
interface PageRequestOf {
  readonly scope: Scope<'read'>;
  readonly name: CollectionName;
  readonly query: Query;
  readonly showing: Projection;
  readonly filter: Document;
  readonly position: PagePosition | null;
  readonly reads: DocumentReader;
}

export class ListReader {
  readonly #deps: ListReaderDeps;

  constructor(deps: ListReaderDeps) {
    this.#deps = deps;
  }

  /**
   * A list with the fields of the query, and those that `expand` needs: the expansion removes them again.
   * @param reads those of an open transaction, if the list should include what that transaction wrote
   * @throws MillraceError `cursor-mismatch`, `query-timeout`
   */
  async list(
    scope: Scope<'read'>,
    name: CollectionName,
    query: Query,
    now: Date,
    reads: DocumentReader = this.#deps.store,
  ): Promise<DocumentList> {
    requireReadablePaths(scope, pathsInFilter(query.filter));
    requireReadablePaths(
      scope,
      query.sort.map(({ path }) => path),
    );
    const showing = createProjection(scope, addExpandedReferenceFields(query.fields, query.expand));
    const filter = combineScopeFilters(boundFilter(scope, query, now), scope);
    const count = await this.#count(scope, name, query, filter, reads);
    if (query.limit === null) {
      return { documents: this.#all(name, query, showing, filter, reads), next: null, prev: null, count, unsorted: [] };
    }
    const spec = queryFingerprint(name, query);
    const { cursorKeys } = this.#deps;
    const position =
      query.cursor === null ? null : decodeCursor(cursorKeys.verifying, spec, query.cursor, decodeDocument);
    const page = await this.#page({ scope, name, query, showing, filter, position, reads });
    const written = (at: PagePosition | null) => (at === null ? null : encodeCursor(cursorKeys.signing, spec, at));
    const { documents, unsorted } = page;
    return { documents, next: written(page.next), prev: written(page.prev), count, unsorted };
  }

  #all(
    name: CollectionName,
    query: Query,
    { fields, cut }: Projection,
    filter: Document,
    reads: DocumentReader,
  ): AsyncGenerator<readonly Uint8Array[]> {
    const batches = reads.list(name, filter, {
      ...toMongoSortOrStages(query.sort),
      skip: query.skip,
      maxTimeMS: this.#deps.listTimeoutMs,
      ...projected(fields),
    });
    return cut === null ? batches : mapped(batches, cut);
  }

  async #page({
    scope,
    name,
    query,
    showing,
    filter,
    position,
    reads,
  }: PageRequestOf): Promise<Page<Uint8Array> & Pick<DocumentList, 'unsorted'>> {
    const { fields, cut } = showing;
    const { sort, skip } = query;
    const limit = query.limit ?? 0;
    if (limit === 0) return { documents: [], next: null, prev: null, unsorted: [] };
    // The cursor is computed from the sort's fields. If the client does not request all of them, they are read too and
    // removed here.
    const whole =
      fields !== null &&
      !coversAllPaths(
        fields,
        sort.map(({ path }) => path),
      );
    const options = { skip, maxTimeMS: this.#deps.queryTimeoutMs, ...(whole ? {} : projected(fields)) };
    const plain = (request: PageRequest, limit: number) =>
      reads.page(name, request.filter, { ...options, ...toMongoSortOrStages(request.sort), limit });
    const reading = readers(sort);
    const { read, holdsArray } = reading;
    // With `skip`, the order of documents with equal keys decides which of them are skipped.
    const inTies =
      skip === 0 && isDatabaseSortable(sort) && (await this.#deps.sortIndexes.serveWithoutId(name, filter, sort));
    const send = async (request: PageRequest, limit: number) =>
      (inTies ? await requestPageBreakingTies(plain, request, limit, read) : null) ?? plain(request, limit);
    const found = async () => {
      const request = buildPageRequest(filter, sort, position);
      const response = await send(request, limit + 1);
      // For a reversed sort the server uses the other end of an array as its key, so the order may be wrong.
      if (position?.direction !== 'prev' || !response.documents.some(holdsArray)) return response;
      return this.#inExactOrder(reads, name, request.filter, query, limit + 1);
    };
    const likely = async (position: PagePosition) => {
      const request = buildPlainComparisonPageRequest(filter, sort, position, limit);
      if (request === null) return null;
      const { documents, more } = await send(request, request.limit);
      const page = verifyPlainComparisonPage(documents, { request, position, limit, more }, { read, holdsArray });
      return page && { documents: page, more };
    };
    // One reply of the server is enough for a page: if the documents are large, the page is shorter.
    const result = (position && (await likely(position))) ?? (await found());
    const { documents, more = false } = await filterPageByScope(scope, result);
    const page = {
      ...slicePage(documents, { sort, limit, position, more }, read),
      unsorted: missingSortKeys(documents, sort),
    };
    if (cut !== null) return { ...page, documents: await cutAll(page.documents, cut) };
    if (!whole || fields === null) return page;
    return { ...page, documents: page.documents.map((raw) => selectStoredFields(raw, fields)) };
  }

  #inExactOrder(
    reads: DocumentReader,
    name: CollectionName,
    filter: Document,
    { sort }: Query,
    limit: number,
  ): Promise<FirstBatch> {
    const stages = [{ $match: filter }, ...exactSortStages(sort, limit)];
    return reads.aggregate(name, stages, limit, this.#deps.queryTimeoutMs);
  }

  async #count(
    scope: Scope<'read'>,
    name: CollectionName,
    query: Query,
    filter: Document,
    reads: DocumentReader,
  ): Promise<DocumentList['count']> {
    if (query.count === 'none') return null;
    if (!isDatabaseFilterExact(scope)) {
      const found = reads.list(name, filter, { maxTimeMS: this.#deps.queryTimeoutMs });
      return { kind: 'exact', value: await countInScope(scope, found) };
    }
    // The server's estimate ignores filters and transactions: with either of them the documents are counted.
    const isPlain = Object.keys(filter).length === 0 && reads === this.#deps.store;
    const kind = query.count === 'estimated' && isPlain ? 'estimated' : 'exact';
    return { kind, value: await withTranslatedErrors(() => reads.count(name, filter, kind)) };
  }
}

/**
 * The stored paths of those sort keys whose value is null or missing in the last document and in the first ones. Nulls
 * are sorted together, so usually no document between them has the field.
 * @param documents with all fields that the sort names
 */
export function missingSortKeys(
  documents: readonly Uint8Array[],
  sort: Sort,
  { read } = readers(sort),
): readonly string[] {
  const last = documents.at(-1);
  if (last === undefined) return [];
  const lacks = (raw: Uint8Array, index: number) => sortKeyOf(read(raw), sort)[index] === null;
  return sort.flatMap(({ path }, index) => {
    const isLacked = path !== '_id' && lacks(last, index);
    return isLacked && documents.slice(0, MAX_CHECKED_DOCUMENTS).every((raw) => lacks(raw, index)) ? [path] : [];
  });
}

/** Functions that read what decides a raw document's position in the sort. */
function readers(sort: Sort): { read: (raw: Uint8Array) => Document; holdsArray: (raw: Uint8Array) => boolean } {
  const paths = sort.map(({ path }) => splitPath(path).map((step) => Buffer.from(step)));
  const names = paths.flatMap((steps) => steps.slice(0, 1));
  return {
    read: (raw) => decodeNamedFields(raw, names),
    holdsArray: (raw) => paths.some((steps) => pathHasArray(raw, steps)),
  };
}

function projected(fields: FieldSelection | null): { projection?: Map<string, 0 | 1> } {
  return fields === null ? {} : { projection: toMongoProjection(fields) };
}

async function* mapped(
  batches: AsyncIterable<readonly Uint8Array[]>,
  cut: NonNullable<Projection['cut']>,
): AsyncGenerator<readonly Uint8Array[]> {
  for await (const batch of batches) yield await cutAll(batch, cut);
}

async function cutAll(
  documents: readonly Uint8Array[],
  cut: NonNullable<Projection['cut']>,
): Promise<readonly Uint8Array[]> {
  return (await mapCooperatively(documents, cut)).filter((raw) => raw !== null);
}
