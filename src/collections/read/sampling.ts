/**
 * A sample of a collection's documents, as a reader sees them: the newest and some at random. It is bounded in time and
 * in bytes, and states whether it is complete.
 */
import type { Document } from 'mongodb';
import { storedIdKey } from '../../database/json/transcode-document.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../../lib/errors.ts';
import { filterByScope } from '../../policies/recheck-in-memory.ts';
import type { Scope } from '../../policies/scope.ts';
import { restrictFilterToScopes, toDatabaseFilter } from '../../policies/scope-filter.ts';
import { fieldFilter } from '../../query/filter.ts';
import { possibleValuesAtPath } from '../../query/parse-values.ts';
import type { DocumentReader } from '../store/document-reader.ts';
import { visibleDocumentBson } from './document-view.ts';

/** Larger documents are not read, in bytes. */
const MAX_BYTES = 65_536;
/** Maximum bytes of all documents of a sample together. */
const MAX_SAMPLE_BYTES = 8 * 1024 * 1024;
/** The database sends an empty document instead of one that is too large. */
const EMPTY_BYTES = 5;

const WITHOUT_LARGE: Document = {
  $replaceWith: { $cond: [{ $lte: [{ $bsonSize: '$$ROOT' }, MAX_BYTES] }, '$$ROOT', {}] },
};

export interface SampleSize {
  /** Documents with the highest ids. Ids that the server generates grow with the time. */
  readonly newest: number;
  /** Random documents, read only if there are more than the newest ones. */
  readonly random: number;
  /** How long each of the two reads may take, in milliseconds. */
  readonly timeoutMs: number;
}

export interface DocumentSample {
  /** Each document once, the newest first. */
  readonly documents: readonly Uint8Array[];
  /** False if a read took too long, or documents were too large. */
  readonly complete: boolean;
}

/** The result of one read. */
interface Drawn extends DocumentSample {
  /** True if there may be more documents than these. */
  readonly more: boolean;
}

/** Reads a sample. Without a filter in the Scope, that takes the same time for any number of documents. */
export async function sampleDocuments(
  reads: DocumentReader,
  scope: Scope<'read'>,
  name: CollectionName,
  { newest, random, timeoutMs }: SampleSize,
): Promise<DocumentSample> {
  const filter = toDatabaseFilter(scope);
  // The database draws quickly from a whole collection only if `$sample` is the first stage.
  const reached = Object.keys(filter).length === 0 ? [] : [{ $match: filter }];
  const draw = (stages: readonly Document[], limit: number) =>
    drawn(reads, scope, name, [...reached, ...stages, WITHOUT_LARGE], limit, timeoutMs);
  const first = await draw([{ $sort: { _id: -1 } }, { $limit: newest }], newest);
  const others = first.more ? await draw([{ $sample: { size: random } }], random) : null;
  const all = withoutRepeats([...first.documents, ...(others?.documents ?? [])]);
  const documents = bounded(all);
  const isWhole = first.complete && others?.complete !== false;
  return { documents, complete: isWhole && documents.length === all.length };
}

/** A timeout gives no documents. Other errors are those of the request. */
async function drawn(
  reads: DocumentReader,
  scope: Scope<'read'>,
  name: CollectionName,
  stages: Document[],
  limit: number,
  timeoutMs: number,
): Promise<Drawn> {
  const found = await inTime(() => reads.aggregate(name, stages, limit, timeoutMs));
  if (found === null) return { documents: [], complete: false, more: true };
  const small = found.documents.filter((raw) => raw.length > EMPTY_BYTES);
  const seen = await mapCooperatively(await filterByScope(scope, small), (raw) =>
    visibleDocumentBson(scope, raw, true),
  );
  return {
    documents: seen.filter((raw) => raw !== null),
    complete: !found.more && small.length === found.documents.length,
    more: found.more || found.documents.length >= limit,
  };
}

/**
 * Whether one of these ids belongs to a readable document.
 * @param ids as clients see them
 * @param timeoutMs after this time the result is false
 */
export async function hasReadableDocumentWithId(
  reads: DocumentReader,
  scope: Scope<'read'>,
  name: CollectionName,
  ids: readonly string[],
  timeoutMs: number,
): Promise<boolean> {
  const requested = fieldFilter('_id', { op: 'in', values: possibleValuesAtPath('_id', ids) });
  const stages = [{ $match: restrictFilterToScopes(requested, scope) }, { $limit: 1 }];
  const found = await inTime(() => reads.aggregate(name, stages, 1, timeoutMs));
  return found !== null && (await filterByScope(scope, found.documents)).length > 0;
}

async function inTime<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'query-timeout') return null;
    throw error;
  }
}

/** Rows of a view may have no id: all of them are kept. */
function withoutRepeats(documents: readonly Uint8Array[]): readonly Uint8Array[] {
  const known = new Set<string>();
  return documents.filter((raw) => {
    const key = storedIdKey(raw);
    if (key === null) return true;
    const isNew = !known.has(key);
    known.add(key);
    return isNew;
  });
}

function bounded(documents: readonly Uint8Array[]): readonly Uint8Array[] {
  let bytes = 0;
  const end = documents.findIndex((raw) => {
    bytes += raw.length;
    return bytes > MAX_SAMPLE_BYTES;
  });
  return end < 0 ? documents : documents.slice(0, end);
}
