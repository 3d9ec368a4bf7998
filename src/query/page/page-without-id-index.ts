/**
 * Pages from an index that has all keys of a sort except the id. The server sorts in the order of that index, and
 * documents with equal keys are sorted by id here. If the run of equal keys at the end of a result may continue, that
 * run alone is requested by id. The result is exact without such an index, too.
 */
import type { Document } from 'bson';
import {
  BSON_KIND,
  type BsonKind,
  bsonKindOf,
  type EmbeddedDocument,
  isEmbeddedDocument,
} from '../evaluate/bson-order.ts';
import { splitPath } from '../field-paths.ts';
import type { PageQuery } from './page.ts';
import { compareSortKeys, type Sort, type SortKeyValues } from './sort.ts';

/** The result, in the requested order, and whether it was cut before its limit. */
export interface QueryPageResponse<T> {
  readonly documents: readonly T[];
  readonly more?: boolean;
}

/** Reads at least the sort's fields of a returned document, exactly typed. */
export type ReadSortFields<T> = (response: T) => EmbeddedDocument;

export type SendPageRequest<T> = (request: PageQuery, limit: number) => Promise<QueryPageResponse<T>>;

interface Keyed<T> {
  readonly document: T;
  readonly values: SortKeyValues;
}

/** Kinds for which the values that the server treats as equal are known, in a collection without a collation. */
const CERTAIN: ReadonlySet<BsonKind> = new Set([
  BSON_KIND.null,
  BSON_KIND.number,
  BSON_KIND.string,
  BSON_KIND.objectId,
  BSON_KIND.boolean,
  BSON_KIND.date,
]);

/** The sort without the id at its end; null if the sort is the id alone, or the id is elsewhere. */
export function sortWithoutId(sort: Sort): Sort | null {
  return sort.length > 1 && sort.at(-1)?.path === '_id' ? sort.slice(0, -1) : null;
}

/**
 * Returns what the server would, from results in the order without the id. The last document of a full result may be
 * another one with the same keys: it only shows that the list continues.
 * @param limit how many documents to request, at least 1; the last is beyond the page
 * @returns null where the order is uncertain: with arrays or rare kinds of values among the keys, or when documents
 * changed between two queries
 */
export async function requestPageBreakingTies<T>(
  send: SendPageRequest<T>,
  request: PageQuery,
  limit: number,
  read: ReadSortFields<T>,
): Promise<Required<QueryPageResponse<T>> | null> {
  const keys = sortWithoutId(request.sort);
  if (keys === null) return null;
  const response = await send({ filter: request.filter, sort: keys }, limit);
  const found = keyed(response.documents, request.sort, read);
  if (found === null) return null;
  const shares = shareKeys(found, keys);
  if (shares === null) return null;
  // A cursor that stays open when the limit is reached has no more documents.
  const more = response.more === true && found.length < limit;
  const ordered = shares ? [...found].sort((a, b) => compareSortKeys(a.values, b.values, request.sort)) : found;
  const complete = !more && found.length < limit;
  const start = complete ? found.length : startOfLastRun(found, keys);
  // A cut result continues with the first document of its last run, which represents the whole run; it cannot be the
  // only one.
  if (more && start === 0) return null;
  if (more || start >= found.length - 1) return { documents: documentsOf(ordered.slice(0, start + 1)), more };
  const before = ordered.slice(0, start);
  const run = await requestRun(send, request, found[start]?.values ?? [], limit - start, read);
  return run === null || shareDocument(before, run) ? null : { documents: documentsOf([...before, ...run]), more };
}

/** The first documents, by id, with these keys; null if there are fewer by now, or if that is uncertain. */
async function requestRun<T>(
  request: SendPageRequest<T>,
  { filter, sort }: PageQuery,
  values: SortKeyValues,
  limit: number,
  read: ReadSortFields<T>,
): Promise<readonly Keyed<T>[] | null> {
  const keys = sort.slice(0, -1);
  const same: Document[] = keys.map(({ path }, index) => ({ [path]: { $eq: values[index] } }));
  const others = Object.keys(filter).length === 0 ? [] : [filter];
  const { documents } = await request({ filter: { $and: [...same, ...others] }, sort }, limit);
  const found = keyed(documents, sort, read);
  if (found === null || found.length < limit) return null;
  return found.every((one) => compareSortKeys(one.values, values, keys) === 0) ? found : null;
}

/** The documents with their keys; null where it is uncertain which keys the server treats as equal. */
function keyed<T>(documents: readonly T[], sort: Sort, read: ReadSortFields<T>): readonly Keyed<T>[] | null {
  const paths = sort.map(({ path }) => splitPath(path));
  const found: Keyed<T>[] = [];
  for (const document of documents) {
    const fields = read(document);
    const values = paths.map((steps) => singleAt(fields, steps));
    if (!values.every(isCertain)) return null;
    found.push({ document, values });
  }
  return found;
}

/** The key of a document without an array on the path; null for a missing value, undefined if there is an array. */
function singleAt(fields: EmbeddedDocument, steps: readonly string[]): unknown {
  let value: unknown = fields;
  for (const step of steps) {
    if (Array.isArray(value)) return undefined;
    if (!isEmbeddedDocument(value) || !Object.hasOwn(value, step)) return null;
    value = value[step];
  }
  return value;
}

/** Binary data, and dates beyond JavaScript's range, look equal here but differ in the database. */
function isCertain(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\ufffd');
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  return CERTAIN.has(bsonKindOf(value)) && bsonKindOf(value) !== BSON_KIND.string;
}

/**
 * For each pair of neighbours, whether they share their keys; null where the documents are not in the order of these
 * keys.
 */
function shareKeys<T>(found: readonly Keyed<T>[], keys: Sort): boolean | null {
  let shares = false;
  for (const [index, { values }] of found.entries()) {
    const before = found[index - 1];
    const order = before === undefined ? -1 : compareSortKeys(before.values, values, keys);
    if (order > 0) return null;
    if (order === 0) shares = true;
  }
  return shares;
}

function startOfLastRun<T>(found: readonly Keyed<T>[], keys: Sort): number {
  const last = found.at(-1);
  if (last === undefined) return 0;
  let start = found.length - 1;
  while (start > 0 && compareSortKeys(found[start - 1]?.values ?? [], last.values, keys) === 0) start--;
  return start;
}

/**
 * True if a document whose keys changed between the two queries was returned by both. Ids that look equal count, too.
 */
function shareDocument<T>(before: readonly Keyed<T>[], run: readonly Keyed<T>[]): boolean {
  const ids = new Set(before.map(({ values }) => String(values.at(-1))));
  return run.some(({ values }) => ids.has(String(values.at(-1))));
}

function documentsOf<T>(found: readonly Keyed<T>[]): readonly T[] {
  return found.map(({ document }) => document);
}
