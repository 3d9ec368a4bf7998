/**
 * The expected state of clients: a model that computes the result of a query from the rows of the log up to a position.
 * It also reports whether a client can know the order of a result from its sort keys in JSON.
 */
import type { Document } from 'mongodb';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { toWireDocument } from '../../../src/database/json/json.ts';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import { bindVariables } from '../../../src/query/evaluate/bind-variables.ts';
import { BSON_KIND, bsonKindOf, equalValues } from '../../../src/query/evaluate/bson-order.ts';
import { toFieldTree } from '../../../src/query/evaluate/field-selection.ts';
import { selectFields } from '../../../src/query/evaluate/field-tree.ts';
import { compileMatcher, type DocumentMatcher } from '../../../src/query/evaluate/match.ts';
import { isNaNValue, isNumber } from '../../../src/query/evaluate/numbers.ts';
import type { SortKeyValues } from '../../../src/query/page/sort.ts';
import { documentComparator, sortKeyOf } from '../../../src/query/page/sort-key.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { documentIdKey } from '../../../src/realtime/result/log-row-view.ts';
import { stateText } from './live-state.ts';

/** A query as clients write it. */
export interface LiveQuery {
  readonly filter?: object;
  readonly sort?: string;
  readonly limit?: number;
  readonly fields?: readonly string[];
}

/** The states of a collection at each row of the log. */
export class LogModel {
  readonly rows: readonly LogRow[];

  constructor(rows: readonly LogRow[]) {
    this.rows = rows;
  }

  /** The documents after all rows up to a number; null when the log lacks the state of one of them. */
  documentsAt(number: number): Document[] | null {
    const documents = new Map<string, Document | null>();
    for (const row of this.rows) {
      if (row.number > number) break;
      if (row.operation === 'drop') documents.clear();
      if (row.key === null) continue;
      const identity = documentIdKey(decodeDocument(row.key)['_id']);
      if (row.operation === 'delete') documents.delete(identity);
      else documents.set(identity, row.after && decodeDocument(row.after));
    }
    const known = [...documents.values()].filter((document) => document !== null);
    return known.length === documents.size ? known : null;
  }
}

/** Whether a document passes a filter as clients write it. */
export function passes(filter: object): DocumentMatcher {
  return compileMatcher(bindVariables(parseQueryJson({ filter }).filter, { now: new Date(), user: null }).filter);
}

/** The documents of a result, as clients see them. */
export interface ApiResponse {
  readonly state: string;
  /** Ids in their order; null if clients may show another order. */
  readonly order: readonly string[] | null;
}

export function responseTo(query: LiveQuery, documents: readonly Document[]): ApiResponse {
  const { sort, limit, fields } = parseQueryJson(query);
  const found = documents.filter(passes(query.filter ?? {})).sort(documentComparator(sort));
  const page = limit === null ? found : found.slice(0, limit);
  const shown = page.map((document) =>
    fields === null
      ? toWireDocument(document)
      : toWireDocument(selectFields(document, toFieldTree(fields)), { meta: false }),
  );
  const isDrawn = query.sort !== undefined && canBeDrawn(page.map((document) => sortKeyOf(document, sort)));
  return { state: stateText(shown), order: isDrawn ? shown.map(({ id }) => String(id)) : null };
}

const DRAWN: ReadonlySet<unknown> = new Set([
  BSON_KIND.null,
  BSON_KIND.number,
  BSON_KIND.string,
  BSON_KIND.boolean,
  BSON_KIND.date,
]);

/**
 * Whether clients can distinguish these sort keys: JSON has nulls, numbers (as doubles), texts and booleans. Dates look
 * like texts, so the two must not be mixed.
 */
function canBeDrawn(keys: readonly SortKeyValues[]): boolean {
  const columns = keys[0]?.map((_, index) => keys.map((key) => key[index])) ?? [];
  return columns.every((values) => {
    const kinds = new Set(values.map((value) => (value === undefined ? undefined : bsonKindOf(value))));
    const mixed = kinds.has(BSON_KIND.date) && (kinds.has(BSON_KIND.string) || kinds.has(BSON_KIND.boolean));
    if (mixed || [...kinds].some((kind) => !DRAWN.has(kind))) return false;
    return !looksAlike(values.filter(isNumber)) && !looksAlike(values.filter((value) => value instanceof Date));
  });
}

const FIRST_TIME = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

function drawn(value: unknown): number {
  const [least, most] = value instanceof Date ? [FIRST_TIME, LAST_TIME] : [-Number.MAX_VALUE, Number.MAX_VALUE];
  const number = value instanceof Date ? value.getTime() : isNaNValue(value) ? least : Number(String(value));
  return Math.max(least, Math.min(most, number));
}

/** Whether different numbers or times look the same to a client. */
function looksAlike(values: readonly unknown[]): boolean {
  const seen = new Map<number, unknown>();
  for (const value of values) {
    const known = seen.get(drawn(value));
    if (known !== undefined && !equalValues(known, value)) return true;
    seen.set(drawn(value), value);
  }
  return false;
}
