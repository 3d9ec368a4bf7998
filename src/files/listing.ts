/**
 * Lists of files: turns a query and a Scope into database reads. Without `limit` a list is a stream of all files; with
 * it, a keyset page that a signed cursor continues. Queries can use the members of a FileResource, and nothing else
 * that a document holds. Not here: the query language (query/) and how a resource is written (file.ts).
 */
import type { Document } from 'mongodb';
import { readStored } from '../database/bson/stored.ts';
import type { ClosableIterator } from '../kernel/concurrency/closable-iterator.ts';
import { mapInTurns } from '../kernel/concurrency/pauses.ts';
import { MillraceError } from '../kernel/errors.ts';
import type { SigningKeys } from '../kernel/signing-keys.ts';
import { bindingsOf } from '../policies/bindings.ts';
import { databaseDecides, joinedFilter, requireReadable, requireShown } from '../policies/reach.ts';
import { countReached, pageOfReached, reachedOf } from '../policies/reached.ts';
import type { Scope } from '../policies/scope.ts';
import { bind } from '../query/evaluate/bind.ts';
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
import { type Query, questionOf } from '../query/parse/query.ts';
import type { FileDocuments } from './store.ts';
import { STORED_MEMBERS } from './upload/file.ts';
import { toVisibleFile, type VisibleFile } from './visible-file.ts';

/** Files in batches, and where a page goes on. */
export interface FileList {
  readonly batches: ClosableIterator<readonly VisibleFile[]>;
  /** Cursors; null where there is no further page, or the list is no page. */
  readonly next: string | null;
  readonly prev: string | null;
  /** How many files the filter finds, when the query asks. */
  readonly count: number | null;
}

export interface FileListingParts {
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
  parts: FileListingParts,
): Promise<FileList> {
  requireMembers(query);
  requireReadable(scope, [...pathsOf(query.filter), ...query.sort.map(({ path }) => path)]);
  if (query.fields?.mode === 'include') requireShown(scope, query.fields.paths);
  const { store, listTimeoutMs, cursorKeys } = parts;
  const filter = joinedFilter(bind(query.filter, bindingsOf(scope.principal, now)).filter, scope);
  const count = query.count === 'none' ? null : await countFiles(scope, filter, parts);
  if (query.limit === null) {
    const options = { ...orderOf(query.sort), skip: query.skip, maxTimeMS: listTimeoutMs };
    return { batches: files(scope, store.list(filter, options)), next: null, prev: null, count };
  }
  const question = questionOf('files', query);
  const position =
    query.cursor === null ? null : decodeCursor(cursorKeys.verifying, question, query.cursor, readStored);
  const page = await readPage(scope, query, query.limit, filter, position, parts);
  const written = (at: PagePosition | null) => (at === null ? null : encodeCursor(cursorKeys.signing, question, at));
  return { batches: files(scope, [page.documents]), next: written(page.next), prev: written(page.prev), count };
}

/** A member that is not shown must not be found out by filtering or sorting either. */
function requireMembers({ filter, sort, expand }: Query): void {
  const asked = [...pathsOf(filter), ...sort.map(({ path }) => path)];
  const unknown = asked.find((path) => !STORED_MEMBERS.has(path.split('.', 1)[0] ?? ''));
  if (unknown === undefined && expand.length === 0) return;
  const name = unknown ?? 'expand';
  throw new MillraceError('unknown-parameter', `Files cannot be filtered by '${name.slice(0, 80)}'`, {
    hint: `Their members are ${[...STORED_MEMBERS].join(', ').replace('_id', 'id')}`,
  });
}

async function countFiles(
  scope: Scope<'read'>,
  filter: Document,
  { store, queryTimeoutMs }: FileListingParts,
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
  { store, queryTimeoutMs }: FileListingParts,
): Promise<Page<Uint8Array>> {
  if (limit === 0) return { documents: [], next: null, prev: null };
  const request = requestPage(filter, sort, position);
  const options = { ...orderOf(request.sort), skip, limit: limit + 1, maxTimeMS: queryTimeoutMs };
  const found = await store.page(request.filter, options);
  const exact = isInOrder(found.map(readStored), sort, position);
  const stages = [{ $match: request.filter }, ...exactStages(sort, limit + 1)];
  const answer = exact ? found : await store.aggregate(stages, queryTimeoutMs);
  const { documents, more = false } = await pageOfReached(scope, { documents: answer });
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
