/**
 * What the log requires for each query of the torture test: which changes must be sent at which number, and the result
 * at every number. It replays the rows document by document, without the product's live queries.
 */
import { hash } from 'node:crypto';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { idText } from '../../../src/database/json/ids.ts';
import { toWireDocument } from '../../../src/database/json/json.ts';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import { type DocumentQuery, type EventQuery, order, type Query, type Shown } from './questions.ts';

/** One change that must be sent. */
export interface Expected {
  readonly number: number;
  /** The database transaction it belongs to. */
  readonly transaction: string | null;
  readonly text: string;
}

/** What the clients of a query receive along the log. */
export interface Track {
  /** In order; null for windows, whose refills depend on batches. */
  readonly expected: readonly Expected[] | null;
  /** The results in order, each with the number that produced it. Empty for events. */
  readonly responses: readonly { readonly number: number; readonly sum: number }[];
}

interface Change {
  readonly row: LogRow;
  readonly id: string;
  readonly before: Shown | null;
  readonly after: Shown | null;
}

const VERBS: Readonly<Record<string, string>> = {
  insert: 'created',
  update: 'updated',
  replace: 'updated',
  delete: 'deleted',
};

/** A number for a document as returned; those of a result's documents add up to its sum. */
export function weight(text: string): number {
  return Number.parseInt(hash('sha1', text, 'hex').slice(0, 10), 16);
}

/** A document without the fields that a write without other changes may increment. */
export function plain(document: Readonly<Record<string, unknown>>): Shown {
  const { _meta, ...fields } = document;
  return fields as Shown;
}

export const changeText = (op: string, documentId: string, document: Shown | null, sortKey: unknown): string =>
  `${op} ${documentId} ${JSON.stringify(document)} ${JSON.stringify(sortKey ?? null)}`;

export const eventText = (type: string, id: string | null, data: Shown | null, before: Shown | null): string =>
  `${type} ${id} ${JSON.stringify(data)} ${JSON.stringify(before)}`;

/** The expected sort key of a document. */
export function sortKey({ sort }: DocumentQuery, document: Shown): unknown[] | null {
  return sort === null ? null : [document[sort.by], document.id];
}

export class Oracle {
  /** Number of the newest row. */
  readonly last: number;
  readonly #changes: readonly Change[];
  /** The changes of each document, in order. */
  readonly #histories = new Map<string, { readonly number: number; readonly after: Shown | null }[]>();
  readonly #tracks = new Map<string, Track>();

  constructor(rows: readonly LogRow[]) {
    this.last = rows.at(-1)?.number ?? 0;
    const documents = new Map<string, Shown>();
    this.#changes = rows.flatMap((row) => {
      if (row.key === null || VERBS[row.operation] === undefined) return [];
      const id = idText(decodeDocument(row.key)['_id']);
      const documentKey = `${row.collection} ${id}`;
      const before = documents.get(documentKey) ?? null;
      const after = row.after === null ? null : plain(toWireDocument(decodeDocument(row.after)));
      if (after === null) documents.delete(documentKey);
      else documents.set(documentKey, after);
      const history = this.#histories.get(documentKey) ?? [];
      history.push({ number: row.number, after });
      this.#histories.set(documentKey, history);
      return [{ row, id, before, after }];
    });
  }

  track(query: Query): Track {
    const key = JSON.stringify(query);
    const known = this.#tracks.get(key);
    if (known !== undefined) return known;
    const track = query.kind === 'events' ? this.#events(query) : this.#documents(query);
    this.#tracks.set(key, track);
    return track;
  }

  /** The documents of a collection at a number. */
  documents(collection: string, number: number): readonly Shown[] {
    const ids = [...this.#histories.keys()].filter((documentKey) => documentKey.startsWith(`${collection} `));
    return ids.flatMap(
      (documentKey) => this.document(collection, documentKey.slice(collection.length + 1), number) ?? [],
    );
  }

  /** A document at a number; null without one. */
  document(collection: string, id: string, number: number): Shown | null {
    const history = this.#histories.get(`${collection} ${id}`) ?? [];
    return history[positionOf(history, number) - 1]?.after ?? null;
  }

  /** How often each write is sent: the fields `w` of all states, with their counts. */
  writes(): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { after } of this.#changes) {
      const write = Number(after?.['w']);
      if (after !== null) counts.set(write, (counts.get(write) ?? 0) + 1);
    }
    return counts;
  }

  #events({ matches }: EventQuery): Track {
    const expected = this.#changes.flatMap(({ row, id, before, after }) => {
      const type = `${row.collection}.${VERBS[row.operation]}`;
      const transaction = row.transaction?.id ?? null;
      if (!matches({ id: '', type, documentId: id, transaction, data: after, before })) return [];
      return [{ number: row.number, transaction, text: eventText(type, id, after, before) }];
    });
    return { expected, responses: [] };
  }

  #documents(query: DocumentQuery): Track {
    const limit = query.query.limit ?? null;
    const expected: Expected[] = [];
    const responses = [{ number: 0, sum: 0 }];
    const matching = new Map<string, Shown>();
    let sum = 0;
    for (const { row, id, before, after } of this.#changes) {
      if (row.collection !== query.collection) continue;
      const was = before !== null && query.matches(before) ? before : null;
      const is = after !== null && query.matches(after) ? after : null;
      if (was === null && is === null) continue;
      if (is === null) matching.delete(id);
      else matching.set(id, is);
      const reason = after === null ? 'deleted' : 'filter';
      const reported = limit === null ? reportedOf(query, id, was, is ?? reason) : null;
      if (reported !== null) {
        expected.push({ number: row.number, transaction: row.transaction?.id ?? null, text: reported });
        sum += weightOf(query, is) - weightOf(query, was);
      }
      if (limit !== null) sum = sumOf(query, [...matching.values()].sort(order(query)).slice(0, limit));
      if (responses.at(-1)?.sum !== sum) responses.push({ number: row.number, sum });
    }
    return { expected: limit === null ? expected : null, responses };
  }
}

/** The expected message about a change; null for none. */
function reportedOf(query: DocumentQuery, id: string, was: Shown | null, is: Shown | string): string | null {
  if (typeof is === 'string') return changeText(`leave ${is}`, id, null, null);
  const shown = query.cut(is);
  const key = sortKey(query, is);
  if (was === null) return changeText('enter', id, shown, key);
  const same = query.query.fields !== undefined && JSON.stringify(query.cut(was)) === JSON.stringify(shown);
  return same ? null : changeText('update', id, shown, key);
}

const weightOf = (query: DocumentQuery, document: Shown | null): number =>
  document === null ? 0 : weight(JSON.stringify(query.cut(document)));

const sumOf = (query: DocumentQuery, documents: readonly Shown[]): number =>
  documents.reduce((sum, document) => sum + weightOf(query, document), 0);

/** The result of a query as texts of what is returned, in order. */
export function responseOf(spec: DocumentQuery, documents: readonly Shown[]): readonly string[] {
  const { matches, cut, query } = spec;
  const response = documents.filter(matches).sort(order(spec)).slice(0, query.limit);
  return response.map((document) => JSON.stringify(cut(document)));
}

/** The result's sum at a number. */
export function sumAt({ responses }: Track, number: number): number {
  return responses[positionOf(responses, number) - 1]?.sum ?? 0;
}

/** The first number from the given one on at which the result has a sum; null if it never has. */
export function firstWith({ responses }: Track, from: number, sum: number): number | null {
  if (sumAt({ expected: null, responses }, from) === sum) return from;
  const later = responses.slice(positionOf(responses, from)).find((response) => response.sum === sum);
  return later?.number ?? null;
}

/** The first change that must be sent after a number. */
export function nextBehind({ expected }: Track, number: number): Expected | null {
  return expected?.[positionOf(expected, number)] ?? null;
}

/** How many of the entries have at most that number. */
export function positionOf(entries: readonly { readonly number: number }[], number: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.number ?? 0) <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}
