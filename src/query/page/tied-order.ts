/**
 * Pages from an index that has all keys of a sort except the id. The server is asked in the order of that index, and
 * documents with equal keys are put in the order of their ids here. If the run of equal keys at the end of an answer
 * may continue, that run alone is asked for by id. Not here: whether such an index exists. The result is exact without
 * one, too.
 */
import type { Document } from 'bson';
import { isMembers, KIND, type Kind, kindOf, type Members } from '../evaluate/order.ts';
import { stepsOf } from '../paths.ts';
import type { PageRequest } from './page.ts';
import { compareKeys, type KeyValues, type Sort } from './sort.ts';

/** What was found, in the order asked for, and whether the answer was cut before its limit. */
export interface TiedAnswer<T> {
  readonly documents: readonly T[];
  readonly more?: boolean;
}

/** Reads at least the sort's fields of an answered document, exactly typed. */
export type Read<T> = (answered: T) => Members;

export type Ask<T> = (request: PageRequest, limit: number) => Promise<TiedAnswer<T>>;

interface Keyed<T> {
  readonly document: T;
  readonly values: KeyValues;
}

/** Kinds for which it is certain here which values the server treats as equal, in a collection without a collation. */
const CERTAIN: ReadonlySet<Kind> = new Set([
  KIND.null,
  KIND.number,
  KIND.string,
  KIND.objectId,
  KIND.boolean,
  KIND.date,
]);

/** The sort without the id at its end; null if the sort is the id alone, or the id stands elsewhere. */
export function withoutId(sort: Sort): Sort | null {
  return sort.length > 1 && sort.at(-1)?.path === '_id' ? sort.slice(0, -1) : null;
}

/**
 * Answers a request as the server would, from answers in the order without the id. The last document of a full answer
 * may be another one with the same keys: it only says that the list goes on.
 * @param limit how many documents to ask for, at least 1; the last is the one more than the page shows
 * @returns null where the order is not certain: with arrays or rare kinds of values among the keys, or when documents
 *   changed between two questions
 */
export async function askInTies<T>(
  ask: Ask<T>,
  request: PageRequest,
  limit: number,
  read: Read<T>,
): Promise<Required<TiedAnswer<T>> | null> {
  const keys = withoutId(request.sort);
  if (keys === null) return null;
  const answer = await ask({ filter: request.filter, sort: keys }, limit);
  const found = keyed(answer.documents, request.sort, read);
  if (found === null) return null;
  const shares = shareKeys(found, keys);
  if (shares === null) return null;
  // A cursor that stays open when the limit is reached has no more documents.
  const more = answer.more === true && found.length < limit;
  const ordered = shares ? [...found].sort((a, b) => compareKeys(a.values, b.values, request.sort)) : found;
  const complete = !more && found.length < limit;
  const start = complete ? found.length : startOfLastRun(found, keys);
  // A cut answer continues with the first document of its last run, which stands for the whole run; it cannot be the
  // only one.
  if (more && start === 0) return null;
  if (more || start >= found.length - 1) return { documents: documentsOf(ordered.slice(0, start + 1)), more };
  const before = ordered.slice(0, start);
  const run = await askRun(ask, request, found[start]?.values ?? [], limit - start, read);
  return run === null || shareDocument(before, run) ? null : { documents: documentsOf([...before, ...run]), more };
}

/** The first documents, by id, of those with these keys; null if there are fewer by now, or if it is not certain. */
async function askRun<T>(
  ask: Ask<T>,
  { filter, sort }: PageRequest,
  values: KeyValues,
  limit: number,
  read: Read<T>,
): Promise<readonly Keyed<T>[] | null> {
  const keys = sort.slice(0, -1);
  const same: Document[] = keys.map(({ path }, index) => ({ [path]: { $eq: values[index] } }));
  const others = Object.keys(filter).length === 0 ? [] : [filter];
  const { documents } = await ask({ filter: { $and: [...same, ...others] }, sort }, limit);
  const found = keyed(documents, sort, read);
  if (found === null || found.length < limit) return null;
  return found.every((one) => compareKeys(one.values, values, keys) === 0) ? found : null;
}

/** The documents with their keys; null where it is not certain which keys the server treats as equal. */
function keyed<T>(documents: readonly T[], sort: Sort, read: Read<T>): readonly Keyed<T>[] | null {
  const paths = sort.map(({ path }) => stepsOf(path));
  const found: Keyed<T>[] = [];
  for (const document of documents) {
    const members = read(document);
    const values = paths.map((steps) => singleAt(members, steps));
    if (!values.every(isCertain)) return null;
    found.push({ document, values });
  }
  return found;
}

/** The key of a document without an array on the path; null for a missing value, undefined if there is an array. */
function singleAt(members: Members, steps: readonly string[]): unknown {
  let value: unknown = members;
  for (const step of steps) {
    if (Array.isArray(value)) return undefined;
    if (!isMembers(value) || !Object.hasOwn(value, step)) return null;
    value = value[step];
  }
  return value;
}

/** Bytes that are not text, and dates beyond JavaScript's range, look alike here but differ in the database. */
function isCertain(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\ufffd');
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  return CERTAIN.has(kindOf(value)) && kindOf(value) !== KIND.string;
}

/**
 * For each pair of neighbours, whether they share their keys; null where the documents are not in the order of these
 * keys.
 */
function shareKeys<T>(found: readonly Keyed<T>[], keys: Sort): boolean | null {
  let shares = false;
  for (const [place, { values }] of found.entries()) {
    const before = found[place - 1];
    const order = before === undefined ? -1 : compareKeys(before.values, values, keys);
    if (order > 0) return null;
    if (order === 0) shares = true;
  }
  return shares;
}

function startOfLastRun<T>(found: readonly Keyed<T>[], keys: Sort): number {
  const last = found.at(-1);
  if (last === undefined) return 0;
  let start = found.length - 1;
  while (start > 0 && compareKeys(found[start - 1]?.values ?? [], last.values, keys) === 0) start--;
  return start;
}

/**
 * True if a document whose keys changed between the two questions was found by both. Ids that look alike count, too.
 */
function shareDocument<T>(before: readonly Keyed<T>[], run: readonly Keyed<T>[]): boolean {
  const ids = new Set(before.map(({ values }) => String(values.at(-1))));
  return run.some(({ values }) => ids.has(String(values.at(-1))));
}

function documentsOf<T>(found: readonly Keyed<T>[]): readonly T[] {
  return found.map(({ document }) => document);
}
