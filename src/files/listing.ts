/**
 * Lists of files: turns a query and a Scope into database reads. Without `limit` a list is a stream of all files; with it, a
 * keyset page that a signed cursor continues. Queries can use only the fields of a FileResource.
 */
import type { Document } from 'mongodb';
import { decodeDocument } from '../database/bson/stored-document.ts';
import type { ClosableIterator } from '../lib/concurrency/closable-iterator.ts';
import { mapCooperatively } from '../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../lib/errors.ts';
import type { SigningKeys } from '../lib/hmac-signing-keys.ts';
import { principalBindings } from '../policies/bindings.ts';
import { countInScope, filterByScope, filterPageByScope } from '../policies/recheck-in-memory.ts';
import type { Scope } from '../policies/scope.ts';
import {
  isDatabaseFilterExact,
  requireFilterableFields,
  requireSelectableFields,
  restrictFilterToScopes,
} from '../policies/scope-filter.ts';
import { bindVariables } from '../query/evaluate/bind-variables.ts';
import { pathsInFilter } from '../query/filter.ts';
import { decodeCursor, encodeCursor } from '../query/page/cursor.ts';
import {
  buildPageRequest,
  exactSortStages,
  isPageInOrder,
  type PagePosition,
  type PageResult,
  slicePage,
  toMongoSortOrStages,
} from '../query/page/page.ts';
import { type Query, queryFingerprint } from '../query/parse/query.ts';
import type { FileDocuments } from './file-document-store.ts';
import { STORED_FILE_FIELDS } from './upload/file.ts';
import { toVisibleFile, type VisibleFile } from './visible-file.ts';

/** Files in batches, and the cursors. */
export interface FileList {
  readonly batches: ClosableIterator<readonly VisibleFile[]>;
  /** Cursors; null without a further page, or if the list is not paged. */
  readonly next: string | null;
  readonly prev: string | null;
  /** The number of files that match the filter, if the query requests it. */
  readonly count: number | null;
}

export interface FileListingDeps {
  readonly store: FileDocuments;
  readonly queryTimeoutMs: number;
  readonly listTimeoutMs: number;
  /** Signs page cursors. */
  readonly cursorKeys: SigningKeys;
}

/** @throws MillraceError `unknown-parameter`, `cursor-mismatch`, `query-timeout` */
export async function listFiles(
  scope: Scope<'read'>,
  query: Query,
  now: Date,
  deps: FileListingDeps,
): Promise<FileList> {
  requireFields(query);
  requireFilterableFields(scope, [...pathsInFilter(query.filter), ...query.sort.map(({ path }) => path)]);
  if (query.fields?.mode === 'include') requireSelectableFields(scope, query.fields.paths);
  const { store, listTimeoutMs, cursorKeys } = deps;
  const filter = restrictFilterToScopes(
    bindVariables(query.filter, principalBindings(scope.principal, now)).filter,
    scope,
  );
  const count = query.count === 'none' ? null : await countFiles(scope, filter, deps);
  if (query.limit === null) {
    const options = { ...toMongoSortOrStages(query.sort), skip: query.skip, maxTimeMS: listTimeoutMs };
    return { batches: files(scope, store.list(filter, options)), next: null, prev: null, count };
  }
  const spec = queryFingerprint('files', query);
  const position =
    query.cursor === null ? null : decodeCursor(cursorKeys.verifying, spec, query.cursor, decodeDocument);
  const page = await readPage(scope, query, query.limit, filter, position, deps);
  const written = (at: PagePosition | null) => (at === null ? null : encodeCursor(cursorKeys.signing, spec, at));
  return { batches: files(scope, [page.documents]), next: written(page.next), prev: written(page.prev), count };
}

/** Hidden fields must not be inferable by filtering or sorting either. */
function requireFields({ filter, sort, expand }: Query): void {
  const requested = [...pathsInFilter(filter), ...sort.map(({ path }) => path)];
  const unknown = requested.find((path) => !STORED_FILE_FIELDS.has(path.split('.', 1)[0] ?? ''));
  if (unknown === undefined && expand.length === 0) return;
  const name = unknown ?? 'expand';
  throw new MillraceError('unknown-parameter', `Files cannot be filtered by '${name.slice(0, 80)}'`, {
    hint: `Their fields are ${[...STORED_FILE_FIELDS].join(', ').replace('_id', 'id')}`,
  });
}

async function countFiles(
  scope: Scope<'read'>,
  filter: Document,
  { store, queryTimeoutMs }: FileListingDeps,
): Promise<number> {
  if (isDatabaseFilterExact(scope)) return store.count(filter);
  return countInScope(scope, store.list(filter, { maxTimeMS: queryTimeoutMs }));
}

async function readPage(
  scope: Scope<'read'>,
  { sort, skip }: Query,
  limit: number,
  filter: Document,
  position: PagePosition | null,
  { store, queryTimeoutMs }: FileListingDeps,
): Promise<PageResult<Uint8Array>> {
  if (limit === 0) return { documents: [], next: null, prev: null };
  const request = buildPageRequest(filter, sort, position);
  const options = { ...toMongoSortOrStages(request.sort), skip, limit: limit + 1, maxTimeMS: queryTimeoutMs };
  const found = await store.page(request.filter, options);
  const exact = isPageInOrder(found.map(decodeDocument), sort, position);
  const stages = [{ $match: request.filter }, ...exactSortStages(sort, limit + 1)];
  const response = exact ? found : await store.aggregate(stages, queryTimeoutMs);
  const { documents, more = false } = await filterPageByScope(scope, { documents: response });
  return slicePage(documents, { sort, limit, position, more }, decodeDocument);
}

async function* files(
  scope: Scope<'read'>,
  batches: AsyncIterable<readonly Uint8Array[]> | Iterable<readonly Uint8Array[]>,
): AsyncGenerator<readonly VisibleFile[]> {
  for await (const batch of batches) {
    yield await mapCooperatively(await filterByScope(scope, batch), (raw) => toVisibleFile(scope, raw));
  }
}
