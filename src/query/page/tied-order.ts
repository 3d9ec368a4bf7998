/**
 * Pages from an index that has all keys of a sort but the id: the server is asked in the order of that index, and documents
 * with equal keys are put in the order of their ids here. Where the run of equal keys at the end of an answer may go on,
 * that run alone is asked for by id. Whether such an index exists is not decided here, nor does exactness hang on it.
 */
import type { Document } from 'bson';
import { KIND, type Kind, kindOf, type Members } from '../evaluate/order.ts';
import type { PageRequest } from './page.ts';
import { compareKeys, type KeyValues, type Sort, sortKeyOf } from './sort.ts';

/** What was found, in the order asked for, and whether the answer was ended before its limit. */
export interface TiedAnswer<T> {
  readonly documents: readonly T[];
  readonly more?: boolean;
}

/** How the sort's fields of an answered document are read. */
export interface Readers<T> {
  readonly read: (answered: T) => Members;
  readonly holdsArray: (answered: T) => boolean;
}

export type Ask<T> = (request: PageRequest, limit: number) => Promise<TiedAnswer<T>>;

interface Keyed<T> {
  readonly document: T;
  readonly values: KeyValues;
}

/** Of these kinds it is certain here which values the server holds for equal, in a collection without a collation. */
const CERTAIN: ReadonlySet<Kind> = new Set([
  KIND.null,
  KIND.number,
  KIND.string,
  KIND.objectId,
  KIND.boolean,
  KIND.date,
]);

/** The sort without the id at its end; null where the id is all of it, or stands elsewhere. */
export function withoutId(sort: Sort): Sort | null {
  return sort.length > 1 && sort.at(-1)?.path === '_id' ? sort.slice(0, -1) : null;
}

/**
 * Answers a request as the server would, from its answers in the order without the id. The last document of a full answer
 * may be another one with the same keys: it only says that the list goes on.
 * @param limit how many documents to ask for, at least 1; the last is the one more than the page shows
 * @returns null where the order cannot be told: with arrays or rare kinds of values among the keys, or when documents
 *   changed between two questions
 */
export async function askInTies<T>(
  ask: Ask<T>,
  request: PageRequest,
  limit: number,
  readers: Readers<T>,
): Promise<Required<TiedAnswer<T>> | null> {
  const keys = withoutId(request.sort);
  if (keys === null) return null;
  const answer = await ask({ filter: request.filter, sort: keys }, limit);
  const found = keyed(answer.documents, request.sort, readers);
  if (found === null || !ascends(found, keys)) return null;
  // A cursor that stays open at the limit has no more to give.
  const more = answer.more === true && found.length < limit;
  const ordered = [...found].sort((a, b) => compareKeys(a.values, b.values, request.sort));
  const complete = !more && found.length < limit;
  const start = complete ? found.length : startOfLastRun(found, keys);
  if (start >= found.length - 1) return { documents: documentsOf(ordered), more };
  // What of a cut answer is certain goes on with the first document of the run, which stands for all of it.
  if (more) return start === 0 ? null : { documents: documentsOf(ordered.slice(0, start + 1)), more };
  const before = ordered.slice(0, start);
  const run = await askRun(ask, request, found[start]?.values ?? [], limit - start, readers);
  return run === null || shareDocument(before, run) ? null : { documents: documentsOf([...before, ...run]), more };
}

/** The first documents by id of those with these keys; null where there are fewer by now, or it cannot be told. */
async function askRun<T>(
  ask: Ask<T>,
  { filter, sort }: PageRequest,
  values: KeyValues,
  limit: number,
  readers: Readers<T>,
): Promise<readonly Keyed<T>[] | null> {
  const keys = sort.slice(0, -1);
  const same: Document[] = keys.map(({ path }, index) => ({ [path]: { $eq: values[index] } }));
  const others = Object.keys(filter).length === 0 ? [] : [filter];
  const { documents } = await ask({ filter: { $and: [...same, ...others] }, sort }, limit);
  const found = keyed(documents, sort, readers);
  if (found === null || found.length < limit) return null;
  return found.every((one) => compareKeys(one.values, values, keys) === 0) ? found : null;
}

/** The documents with their keys; null where it is not certain which keys the server holds for equal. */
function keyed<T>(documents: readonly T[], sort: Sort, { read, holdsArray }: Readers<T>): readonly Keyed<T>[] | null {
  const found: Keyed<T>[] = [];
  for (const document of documents) {
    if (holdsArray(document)) return null;
    const values = sortKeyOf(read(document), sort);
    if (!values.every(isCertain)) return null;
    found.push({ document, values });
  }
  return found;
}

/** Bytes that are no text, and dates beyond those of JavaScript, look alike here and differ in the database. */
function isCertain(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\ufffd');
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  return CERTAIN.has(kindOf(value)) && kindOf(value) !== KIND.string;
}

function ascends<T>(found: readonly Keyed<T>[], keys: Sort): boolean {
  return found.every((one, place) => {
    const before = found[place - 1];
    return before === undefined || compareKeys(before.values, one.values, keys) <= 0;
  });
}

function startOfLastRun<T>(found: readonly Keyed<T>[], keys: Sort): number {
  const last = found.at(-1);
  if (last === undefined) return 0;
  let start = found.length - 1;
  while (start > 0 && compareKeys(found[start - 1]?.values ?? [], last.values, keys) === 0) start--;
  return start;
}

/** Whether a document that got other keys between the two questions was found by both. Ids that look alike count, too. */
function shareDocument<T>(before: readonly Keyed<T>[], run: readonly Keyed<T>[]): boolean {
  const ids = new Set(before.map(({ values }) => String(values.at(-1))));
  return run.some(({ values }) => ids.has(String(values.at(-1))));
}

function documentsOf<T>(found: readonly Keyed<T>[]): readonly T[] {
  return found.map(({ document }) => document);
}
