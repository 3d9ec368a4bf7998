/**
 * Lists of files: turns a query and a Scope into database reads. Without `limit` a list is a stream of all files; with it, a
 * keyset page that a signed cursor continues. Queries can use only the fields of a FileResource.
 */
import type { Document } from 'mongodb';
import { readStored } from '../database/bson/stored.ts';
import type { ClosableIterator } from '../lib/concurrency/closable-iterator.ts';
import { mapInTurns } from '../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../lib/errors.ts';
import type { SigningKeys } from '../lib/signing-keys.ts';
import { bindingsOf } from '../policies/bindings.ts';
import { countReached, pageOfReached, reachedOf } from '../policies/recheck-in-memory.ts';
import type { Scope } from '../policies/scope.ts';
import { databaseDecides, joinedFilter, requireReadable, requireShown } from '../policies/scope-filter.ts';
import { bind } from '../query/evaluate/bind-variables.ts';
import { pathsOf } from '../query/filter.ts';
import { decodeCursor, encodeCursor } from '../query/page/cursor.ts';
import {
  cutPage,
  exactStages,
  isInOrder,
  orderOf,
  type Page,
  type PagePosition,
  requestPage,
} from '../query/page/page.ts';
import { type Query, queryOf } from '../query/parse/query.ts';
import type { FileDocuments } from './store.ts';
import { STORED_FIELDS } from './upload/file.ts';
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
  requireReadable(scope, [...pathsOf(query.filter), ...query.sort.map(({ path }) => path)]);
  if (query.fields?.mode === 'include') requireShown(scope, query.fields.paths);
  const { store, listTimeoutMs, cursorKeys } = deps;
  const filter = joinedFilter(bind(query.filter, bindingsOf(scope.principal, now)).filter, scope);
  const count = query.count === 'none' ? null : await countFiles(scope, filter, deps);
  if (query.limit === null) {
    const options = { ...orderOf(query.sort), skip: query.skip, maxTimeMS: listTimeoutMs };
    return { batches: files(scope, store.list(filter, options)), next: null, prev: null, count };
  }
  const spec = queryOf('files', query);
  const position = query.cursor === null ? null : decodeCursor(cursorKeys.verifying, spec, query.cursor, readStored);
  const page = await readPage(scope, query, query.limit, filter, position, deps);
  const written = (at: PagePosition | null) => (at === null ? null : encodeCursor(cursorKeys.signing, spec, at));
  return { batches: files(scope, [page.documents]), next: written(page.next), prev: written(page.prev), count };
}

/** Hidden fields must not be inferable by filtering or sorting either. */
function requireFields({ filter, sort, expand }: Query): void {
  const requested = [...pathsOf(filter), ...sort.map(({ path }) => path)];
  const unknown = requested.find((path) => !STORED_FIELDS.has(path.split('.', 1)[0] ?? ''));
  if (unknown === undefined && expand.length === 0) return;
  const name = unknown ?? 'expand';
  throw new MillraceError('unknown-parameter', `Files cannot be filtered by '${name.slice(0, 80)}'`, {
    hint: `Their fields are ${[...STORED_FIELDS].join(', ').replace('_id', 'id')}`,
  });
}

async function countFiles(
  scope: Scope<'read'>,
  filter: Document,
  { store, queryTimeoutMs }: FileListingDeps,
): Promise<number> {
  if (databaseDecides(scope)) return store.count(filter);
  return countReached(scope, store.list(filter, { maxTimeMS: queryTimeoutMs }));
}

async function readPage(
  scope: Scope<'read'>,
  { sort, skip }: Query,
  limit: number,
  filter: Document,
  position: PagePosition | null,
  { store, queryTimeoutMs }: FileListingDeps,
): Promise<Page<Uint8Array>> {
  if (limit === 0) return { documents: [], next: null, prev: null };
  const request = requestPage(filter, sort, position);
  const options = { ...orderOf(request.sort), skip, limit: limit + 1, maxTimeMS: queryTimeoutMs };
  const found = await store.page(request.filter, options);
  const exact = isInOrder(found.map(readStored), sort, position);
  const stages = [{ $match: request.filter }, ...exactStages(sort, limit + 1)];
  const response = exact ? found : await store.aggregate(stages, queryTimeoutMs);
  const { documents, more = false } = await pageOfReached(scope, { documents: response });
  return cutPage(documents, { sort, limit, position, more }, readStored);
}

async function* files(
  scope: Scope<'read'>,
  batches: AsyncIterable<readonly Uint8Array[]> | Iterable<readonly Uint8Array[]>,
): AsyncGenerator<readonly VisibleFile[]> {
  for await (const batch of batches) {
    yield await mapInTurns(await reachedOf(scope, batch), (raw) => toVisibleFile(scope, raw));
  }
}
