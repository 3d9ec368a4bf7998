/**
 * Lists of documents: turns a query and a Scope into database reads. Without `limit` a list is a stream of all
 * documents; with it, a keyset page that a signed cursor continues.
 */
import type { Document } from 'mongodb';
import { pathHasArray } from '../../database/bson/bson-bytes.ts';
import { decodeNamedFields } from '../../database/bson/partial-decode.ts';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import type { FirstBatch } from '../../database/cursors/find-raw.ts';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import type { ClosableIterator } from '../../lib/concurrency/closable-iterator.ts';
import type { SigningKeys } from '../../lib/hmac-signing-keys.ts';
import { principalBindings } from '../../policies/bindings.ts';
import { countInScope, filterPageByScope } from '../../policies/recheck-in-memory.ts';
import type { Scope } from '../../policies/scope.ts';
import { isDatabaseFilterExact, requireFilterableFields, restrictFilterToScopes } from '../../policies/scope-filter.ts';
import { bindVariables } from '../../query/evaluate/bind-variables.ts';
import { coversAllPaths, type FieldSelection, toMongoProjection } from '../../query/evaluate/field-selection.ts';
import type { FieldTree } from '../../query/evaluate/field-tree.ts';
import { splitPath } from '../../query/field-paths.ts';
import { pathsInFilter } from '../../query/filter.ts';
import { decodeCursor, encodeCursor } from '../../query/page/cursor.ts';
import { buildPlainComparisonPageRequest, verifyPlainComparisonPage } from '../../query/page/optimistic-page.ts';
import {
  buildPageRequest,
  exactSortStages,
  type PagePosition,
  type PageQuery,
  slicePage,
  toMongoSortOrStages,
} from '../../query/page/page.ts';
import { requestPageBreakingTies } from '../../query/page/page-without-id-index.ts';
import { isDatabaseSortable, type Sort } from '../../query/page/sort.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import { type Query, queryFingerprint } from '../../query/parse/query.ts';
import type { DocumentReader, ReadOptions } from '../store/document-reader.ts';
import type { SortIndexes } from '../store/sort-indexes.ts';
import type { DocumentStore } from '../store/store.ts';
import { selectFieldsForExpand, selectStoredFields } from './field-selection.ts';
import { createProjection, cutBatches, cutDocuments, type Projection } from './projection.ts';

/** Raw documents, and the positions of neighboring pages. */
export interface DocumentList {
  /** The documents of a page; the first batch of a whole list. Equal pages that shared a read are the same array. */
  readonly documents: readonly Uint8Array[];
  /** The visible fields of the documents; all of them unless the request said that it encodes them. */
  readonly visible: FieldTree;
  /** The other batches of a whole list; null for a page. */
  readonly rest: ClosableIterator<readonly Uint8Array[]> | null;
  /** Cursors; null where there is no further page, or the list is not paged. */
  readonly next: string | null;
  readonly prev: string | null;
  readonly count: { readonly kind: 'exact' | 'estimated'; readonly value: number } | null;
  /** The stored paths of sort keys that the documents lack. */
  readonly unsorted: readonly string[];
}

/** Documents at the start of a response that are checked for fields that all of them lack. */
export const MISSING_FIELD_SAMPLE_SIZE = 20;

export interface ListDeps {
  readonly store: DocumentStore;
  readonly sortIndexes: SortIndexes;
  readonly queryTimeoutMs: number;
  readonly listTimeoutMs: number;
  /** Signs page cursors. */
  readonly cursorKeys: SigningKeys;
}

export interface ListRequest {
  readonly scope: Scope<'read'>;
  readonly name: CollectionName;
  readonly query: Query;
  readonly now: Date;
  /** The reads of an open transaction, if the list should include what that transaction wrote. */
  readonly within: DocumentReader | undefined;
  /** True if the documents are encoded with the visible fields alone, so that hidden ones need not be removed here. */
  readonly isEncoded: boolean;
}

/** A list as it is read from the database. */
interface ListRead extends Pick<ListRequest, 'scope' | 'name' | 'query'> {
  readonly shown: Projection;
  /** The filters of the query and of the Scope. */
  readonly filter: Document;
  readonly reads: DocumentReader;
}

/**
 * A list with the fields of the query, and those that `expand` needs: the expansion removes them again.
 * @throws MillraceError `field-hidden`, `cursor-mismatch`, `query-timeout`
 */
export async function readList(
  { scope, name, query, now, within, isEncoded }: ListRequest,
  deps: ListDeps,
): Promise<DocumentList> {
  requireFilterableFields(scope, pathsInFilter(query.filter));
  requireFilterableFields(
    scope,
    query.sort.map(({ path }) => path),
  );
  const shown = createProjection(scope, selectFieldsForExpand(query.fields, query.expand), isEncoded);
  const requested = bindVariables(query.filter, principalBindings(scope.principal, now)).filter;
  const read = {
    scope,
    name,
    query,
    shown,
    filter: restrictFilterToScopes(requested, scope),
    reads: within ?? deps.store,
  };
  const count = await countDocuments(read, deps);
  const found = query.limit === null ? await readAll(read, deps) : await readPage(read, query.limit, deps);
  return { ...found, visible: shown.visible, count };
}

/** A list without what is the same for a page and a whole list. */
type ReadDocuments = Omit<DocumentList, 'count' | 'visible'>;

/** All documents, after the first batch was read, so that an error still gets the right status. */
async function readAll(
  { name, query, shown: { fields, cut }, filter, reads }: ListRead,
  { listTimeoutMs }: ListDeps,
): Promise<ReadDocuments> {
  const order = toMongoSortOrStages(query.sort);
  const found = reads.list(name, filter, {
    ...order,
    skip: query.skip,
    maxTimeMS: listTimeoutMs,
    ...projected(fields),
  });
  const batches = cut === null ? found : cutBatches(found, cut);
  const first = await batches.next();
  const documents: readonly Uint8Array[] = first.done ? [] : first.value;
  const sort = query.sort.filter(({ path }) => query.fields === null || coversAllPaths(query.fields, [path]));
  return { documents, rest: batches, next: null, prev: null, unsorted: missingSortKeys(documents, sort) };
}

async function readPage(read: ListRead, limit: number, deps: ListDeps): Promise<ReadDocuments> {
  const { scope, name, query, filter } = read;
  const { fields } = read.shown;
  const { sort, skip } = query;
  const position =
    query.cursor === null
      ? null
      : decodeCursor(deps.cursorKeys.verifying, queryFingerprint(name, query), query.cursor, decodeDocument);
  if (limit === 0) return { documents: [], rest: null, next: null, prev: null, unsorted: [] };
  // The cursor is computed from the sort's fields. If the client does not request all of them, they are read too and
  // removed here.
  const paths = sort.map(({ path }) => path);
  const whole = fields !== null && !coversAllPaths(fields, paths);
  const options = { skip, maxTimeMS: deps.queryTimeoutMs, ...(whole ? {} : projected(fields)) };
  // With `skip`, the order of documents with equal keys decides which of them are skipped.
  const isInTies =
    skip === 0 && isDatabaseSortable(sort) && (await deps.sortIndexes.serveWithoutId(name, filter, sort));
  const page = { ...read, limit, options, isInTies, keys: sortKeyReader(sort) };
  const found =
    (position === null ? null : await findOptimistically(page, position)) ?? (await findPage(page, position));
  const toPage = () => finishPage(page, found, position, { whole, signing: deps.cursorKeys.signing });
  // Only where the rights of a request decide nothing beyond the reply: its filter and its projection were part of the
  // read.
  const isSame = isDatabaseFilterExact(scope) && read.shown.cut === null && !whole;
  return isSame ? sharePage(found, query, toPage) : toPage();
}

const pagesOfReplies = new WeakMap<FirstBatch, WeakMap<Query, Promise<ReadDocuments>>>();

/** The page of a reply that several equal requests share: it is finished once for all of them. */
function sharePage(reply: FirstBatch, query: Query, toPage: () => Promise<ReadDocuments>): Promise<ReadDocuments> {
  const pages = pagesOfReplies.get(reply) ?? new WeakMap<Query, Promise<ReadDocuments>>();
  const page = pages.get(query) ?? toPage();
  pagesOfReplies.set(reply, pages.set(query, page));
  return page;
}

/** Cuts the page out of a reply, and creates its cursors. */
async function finishPage(
  { scope, name, query, limit, keys, shown: { fields, cut } }: PageRead,
  found: FirstBatch,
  position: PagePosition | null,
  { whole, signing }: { readonly whole: boolean; readonly signing: SigningKeys['signing'] },
): Promise<ReadDocuments> {
  const { sort } = query;
  // One reply of the server is enough for a page: if the documents are large, the page is shorter.
  const { documents, more = false } = await filterPageByScope(scope, found);
  const { next, prev, ...sliced } = slicePage(documents, { sort, limit, position, more }, keys.read);
  const toCursor = (at: PagePosition | null) =>
    at === null ? null : encodeCursor(signing, queryFingerprint(name, query), at);
  const kept =
    cut !== null
      ? await cutDocuments(sliced.documents, cut)
      : whole
        ? sliced.documents.map((raw) => selectStoredFields(raw, fields))
        : sliced.documents;
  const unsorted = missingSortKeys(documents, sort, keys);
  return { documents: kept, rest: null, next: toCursor(next), prev: toCursor(prev), unsorted };
}

/** A page as it is read from the database. */
interface PageRead extends ListRead {
  readonly limit: number;
  readonly options: ReadOptions;
  /** Whether an index serves the sort only without the id at its end. */
  readonly isInTies: boolean;
  readonly keys: SortKeyReader;
}

/** The page as far as one simple query finds it with certainty; null if it does not. */
async function findOptimistically(
  page: PageRead,
  position: PagePosition,
): Promise<{ readonly documents: readonly Buffer[]; readonly more: boolean } | null> {
  const { filter, query, limit, keys } = page;
  const request = buildPlainComparisonPageRequest(filter, query.sort, position, limit);
  if (request === null) return null;
  const { documents, more } = await sendPageRequest(page, request, request.limit);
  const found = verifyPlainComparisonPage(documents, { request, position, limit, more }, keys);
  return found && { documents: found, more };
}

async function findPage(page: PageRead, position: PagePosition | null): Promise<FirstBatch> {
  const { reads, name, filter, query, limit, keys, options } = page;
  const request = buildPageRequest(filter, query.sort, position);
  const response = await sendPageRequest(page, request, limit + 1);
  // For a reversed sort the server uses the other end of an array as its key, so the order may be wrong.
  if (position?.direction !== 'prev' || !response.documents.some(keys.holdsArray)) return response;
  const stages = [{ $match: request.filter }, ...exactSortStages(query.sort, limit + 1)];
  return reads.aggregate(name, stages, limit + 1, options.maxTimeMS);
}

async function sendPageRequest(page: PageRead, request: PageQuery, limit: number): Promise<FirstBatch> {
  const { reads, name, options } = page;
  const send = ({ filter, sort }: PageQuery, most: number) =>
    reads.page(name, filter, { ...options, ...toMongoSortOrStages(sort), limit: most });
  const found = page.isInTies ? await requestPageBreakingTies(send, request, limit, page.keys.read) : null;
  return found ?? send(request, limit);
}

async function countDocuments(
  { scope, name, query, filter, reads }: ListRead,
  { store, queryTimeoutMs }: ListDeps,
): Promise<DocumentList['count']> {
  if (query.count === 'none') return null;
  if (!isDatabaseFilterExact(scope)) {
    const found = reads.list(name, filter, { maxTimeMS: queryTimeoutMs });
    return { kind: 'exact', value: await countInScope(scope, found) };
  }
  // The server's estimate ignores filters and transactions: with either of them the documents are counted.
  const isPlain = Object.keys(filter).length === 0 && reads === store;
  const kind = query.count === 'estimated' && isPlain ? 'estimated' : 'exact';
  return { kind, value: await withTranslatedErrors(() => reads.count(name, filter, kind)) };
}

/**
 * The stored paths of those sort keys whose value is null or missing in the last document and in the first ones. Nulls
 * are sorted together, so usually no document between them has the field.
 * @param documents with all fields that the sort names
 */
function missingSortKeys(
  documents: readonly Uint8Array[],
  sort: Sort,
  { read } = sortKeyReader(sort),
): readonly string[] {
  const last = documents.at(-1);
  if (last === undefined) return [];
  const lacks = (raw: Uint8Array, index: number) => sortKeyOf(read(raw), sort)[index] === null;
  return sort.flatMap(({ path }, index) => {
    const isLacked = path !== '_id' && lacks(last, index);
    return isLacked && documents.slice(0, MISSING_FIELD_SAMPLE_SIZE).every((raw) => lacks(raw, index)) ? [path] : [];
  });
}

/** Reads what decides a raw document's position in the sort. */
interface SortKeyReader {
  readonly read: (raw: Uint8Array) => Document;
  readonly holdsArray: (raw: Uint8Array) => boolean;
}

function sortKeyReader(sort: Sort): SortKeyReader {
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
