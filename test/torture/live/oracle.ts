/**
 * What the log says about each question of the live torture: which changes have to be told at which number, and which
 * answer holds behind every number. It replays the rows document by document; the product's live queries are not asked.
 */
import { hash } from 'node:crypto';
import { readStored } from '../../../src/database/bson/stored.ts';
import { idText } from '../../../src/database/json/ids.ts';
import { toWire } from '../../../src/database/json/json.ts';
import type { LogRow } from '../../../src/events/log/row.ts';
import { type DocumentQuestion, type EventQuestion, order, type Question, type Shown } from './questions.ts';

/** One change that must be told. */
export interface Expected {
  readonly number: number;
  /** The database transaction it belongs to. */
  readonly transaction: string | null;
  readonly text: string;
}

/** What a question's clients are told along the log. */
export interface Track {
  /** In order; null for windows, whose refills depend on what is told together. */
  readonly expected: readonly Expected[] | null;
  /** The answers in order, each with the number that made it. Empty for events. */
  readonly answers: readonly { readonly number: number; readonly sum: number }[];
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

/** A number for a document as it is shown; those of an answer's documents add up to its sum. */
export function weight(text: string): number {
  return Number.parseInt(hash('sha1', text, 'hex').slice(0, 10), 16);
}

/** A document without what a write that changes nothing else may count. */
export function plain(document: Readonly<Record<string, unknown>>): Shown {
  const { _meta, ...members } = document;
  return members as Shown;
}

export const changeText = (op: string, documentId: string, document: Shown | null, sortKey: unknown): string =>
  `${op} ${documentId} ${JSON.stringify(document)} ${JSON.stringify(sortKey ?? null)}`;

export const eventText = (type: string, id: string | null, data: Shown | null, before: Shown | null): string =>
  `${type} ${id} ${JSON.stringify(data)} ${JSON.stringify(before)}`;

/** What is told as a document's sort key. */
export function sortKey({ sort }: DocumentQuestion, document: Shown): unknown[] | null {
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
      const id = idText(readStored(row.key)['_id']);
      const place = `${row.collection} ${id}`;
      const before = documents.get(place) ?? null;
      const after = row.after === null ? null : plain(toWire(readStored(row.after)));
      if (after === null) documents.delete(place);
      else documents.set(place, after);
      const history = this.#histories.get(place) ?? [];
      history.push({ number: row.number, after });
      this.#histories.set(place, history);
      return [{ row, id, before, after }];
    });
  }

  track(question: Question): Track {
    const key = JSON.stringify(question);
    const known = this.#tracks.get(key);
    if (known !== undefined) return known;
    const track = question.kind === 'events' ? this.#events(question) : this.#documents(question);
    this.#tracks.set(key, track);
    return track;
  }

  /** The documents of a collection behind a number. */
  documents(collection: string, number: number): readonly Shown[] {
    const ids = [...this.#histories.keys()].filter((place) => place.startsWith(`${collection} `));
    return ids.flatMap((place) => this.document(collection, place.slice(collection.length + 1), number) ?? []);
  }

  /** A document behind a number; null where there is none. */
  document(collection: string, id: string, number: number): Shown | null {
    const history = this.#histories.get(`${collection} ${id}`) ?? [];
    return history[placeOf(history, number) - 1]?.after ?? null;
  }

  /** How often each write is told: the members `w` of all states, with their counts. */
  writes(): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { after } of this.#changes) {
      const write = Number(after?.['w']);
      if (after !== null) counts.set(write, (counts.get(write) ?? 0) + 1);
    }
    return counts;
  }

  #events({ matches }: EventQuestion): Track {
    const expected = this.#changes.flatMap(({ row, id, before, after }) => {
      const type = `${row.collection}.${VERBS[row.operation]}`;
      const transaction = row.transaction?.id ?? null;
      if (!matches({ id: '', type, documentId: id, transaction, data: after, before })) return [];
      return [{ number: row.number, transaction, text: eventText(type, id, after, before) }];
    });
    return { expected, answers: [] };
  }

  #documents(question: DocumentQuestion): Track {
    const limit = question.query.limit ?? null;
    const expected: Expected[] = [];
    const answers = [{ number: 0, sum: 0 }];
    const matching = new Map<string, Shown>();
    let sum = 0;
    for (const { row, id, before, after } of this.#changes) {
      if (row.collection !== question.collection) continue;
      const was = before !== null && question.matches(before) ? before : null;
      const is = after !== null && question.matches(after) ? after : null;
      if (was === null && is === null) continue;
      if (is === null) matching.delete(id);
      else matching.set(id, is);
      const reason = after === null ? 'deleted' : 'filter';
      const told = limit === null ? toldOf(question, id, was, is ?? reason) : null;
      if (told !== null) {
        expected.push({ number: row.number, transaction: row.transaction?.id ?? null, text: told });
        sum += weightOf(question, is) - weightOf(question, was);
      }
      if (limit !== null) sum = sumOf(question, [...matching.values()].sort(order(question)).slice(0, limit));
      if (answers.at(-1)?.sum !== sum) answers.push({ number: row.number, sum });
    }
    return { expected: limit === null ? expected : null, answers };
  }
}

/** What has to be told of a change; null for nothing. */
function toldOf(question: DocumentQuestion, id: string, was: Shown | null, is: Shown | string): string | null {
  if (typeof is === 'string') return changeText(`leave ${is}`, id, null, null);
  const shown = question.cut(is);
  const key = sortKey(question, is);
  if (was === null) return changeText('enter', id, shown, key);
  const same = question.query.fields !== undefined && JSON.stringify(question.cut(was)) === JSON.stringify(shown);
  return same ? null : changeText('update', id, shown, key);
}

const weightOf = (question: DocumentQuestion, document: Shown | null): number =>
  document === null ? 0 : weight(JSON.stringify(question.cut(document)));

const sumOf = (question: DocumentQuestion, documents: readonly Shown[]): number =>
  documents.reduce((sum, document) => sum + weightOf(question, document), 0);

/** The answer to a question as texts of what is shown, in order. */
export function answerOf(question: DocumentQuestion, documents: readonly Shown[]): readonly string[] {
  const { matches, cut, query } = question;
  const answer = documents.filter(matches).sort(order(question)).slice(0, query.limit);
  return answer.map((document) => JSON.stringify(cut(document)));
}

/** The answer's sum behind a number. */
export function sumAt({ answers }: Track, number: number): number {
  return answers[placeOf(answers, number) - 1]?.sum ?? 0;
}

/** The first number from the given one on behind which the answer has a sum; null when it never has. */
export function firstWith({ answers }: Track, from: number, sum: number): number | null {
  if (sumAt({ expected: null, answers }, from) === sum) return from;
  const later = answers.slice(placeOf(answers, from)).find((answer) => answer.sum === sum);
  return later?.number ?? null;
}

/** The first change that must be told behind a number. */
export function nextBehind({ expected }: Track, number: number): Expected | null {
  return expected?.[placeOf(expected, number)] ?? null;
}

/** How many of the entries have at most that number. */
export function placeOf(entries: readonly { readonly number: number }[], number: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.number ?? 0) <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}
