/**
 * Parses a whole query: the parameters of a URL, or the JSON body of `_query`. In a URL, every other name is a
 * condition, except the names that other backends give to their parameters: those are rejected. This file decides which
 * part of the query a parameter is; each part is parsed in its own file.
 */
import { didYouMeanHint } from '../../lib/did-you-mean.ts';
import { type ErrorCode, MillraceError } from '../../lib/errors.ts';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import { type FieldSelection, parseFields } from '../evaluate/field-selection.ts';
import { requireAffordableFilter } from '../evaluate/filter-cost.ts';
import { clientPath, parseQueryPath, splitPathList } from '../field-paths.ts';
import { and, type UnboundFilter } from '../filter.ts';
import { QUERY_LIMITS } from '../limits.ts';
import { parseOperator } from '../operators.ts';
import { parseSort, SORT_BY_ID, type Sort } from '../page/sort.ts';
import { PatternValidator } from '../text/pattern.ts';
import { foreignParameterHint, rejectedParameterHint } from './foreign-syntax-hints.ts';
import { parseFilterJson } from './parse-filter-json.ts';
import type { QueryParameter } from './parse-query-string.ts';
import { parseEqualsCondition, parseShortCondition } from './parse-short-condition.ts';
import { COUNT_MODES, type CountMode, type Expansion, type Query } from './query.ts';

/** Parameters that are not fields; a field of that name is reached as `limit[eq]=5`. */
export const RESERVED_PARAMETERS = ['filter', 'sort', 'fields', 'limit', 'cursor', 'skip', 'count', 'expand'] as const;

export type ReservedParameter = (typeof RESERVED_PARAMETERS)[number];

const isReserved = (name: string): name is ReservedParameter =>
  RESERVED_PARAMETERS.some((reserved) => reserved === name);

/**
 * Parses the parameters of a URL (`parseQueryString`). A route removes its own parameters first.
 * @throws MillraceError 400 with the code of what is wrong
 */
export function parseQuery(parameters: Iterable<QueryParameter>): Query {
  const settings = new Map<ReservedParameter, string>();
  const equals = new Map<string, string[]>();
  const conditions: UnboundFilter[] = [];
  const patterns = new PatternValidator();
  for (const [name, value] of parameters) {
    const [path, operator] = readName(name);
    // A step that starts with `$` is written `['$…']`, so this is not a field.
    if (path.startsWith('$')) throw unknownParameter(path);
    if (operator !== null) {
      conditions.push(parseShortCondition(parseQueryPath(path), parseOperator(operator), value, patterns));
    } else if (!isReserved(name)) {
      const reported = rejectedParameterHint(name);
      if (reported !== null)
        throw unknownParameter(name, `${reported} To filter by a field with that name, write ${name}[eq]=.`);
      const stored = parseQueryPath(name);
      equals.set(stored, [...(equals.get(stored) ?? []), value]);
    } else {
      if (settings.has(name)) throw invalid(`The parameter '${name}' is given twice`);
      settings.set(name, value);
    }
  }
  const filter = settings.get('filter');
  const full = filter === undefined ? [] : [parseFilterJson(readJson(filter), patterns)];
  const same = [...equals].map(([path, values]) => parseEqualsCondition(path, values));
  const text = (name: ReservedParameter): string | null => settings.get(name) ?? null;
  return complete({
    filter: and([...full, ...same, ...conditions]),
    sort: listOf(text('sort')),
    fields: listOf(text('fields')),
    limit: wholeNumber('limit', text('limit'), QUERY_LIMITS.limit),
    cursor: text('cursor'),
    skip: wholeNumber('skip', text('skip'), QUERY_LIMITS.skip),
    count: text('count'),
    expand: listOf(text('expand')),
  });
}

/**
 * Parses the body of `_query`, or the `query` of a subscription: the same parameters as fields.
 * @throws MillraceError 400 with the code of what is wrong
 */
export function parseQueryJson(body: unknown): Query {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('A query must be a JSON object');
  const fields = new Map<string, unknown>(Object.entries(body));
  for (const name of fields.keys()) if (!isReserved(name)) throw unknownParameter(name);
  const filter = fields.has('filter') ? parseFilterJson(fields.get('filter')) : and([]);
  return complete({
    filter,
    sort: jsonList('sort', fields.get('sort')),
    fields: jsonList('fields', fields.get('fields')),
    limit: jsonNumber('limit', fields.get('limit'), QUERY_LIMITS.limit),
    cursor: jsonText('cursor', fields.get('cursor')),
    skip: jsonNumber('skip', fields.get('skip'), QUERY_LIMITS.skip),
    count: jsonText('count', fields.get('count')),
    expand: jsonList('expand', fields.get('expand')),
  });
}

/** The parts of a query as texts, in either written form; null for missing ones. */
interface Parts {
  readonly filter: UnboundFilter;
  readonly sort: readonly string[] | null;
  readonly fields: readonly string[] | null;
  readonly limit: number | null;
  readonly cursor: string | null;
  readonly skip: number | null;
  readonly count: string | null;
  readonly expand: readonly string[] | null;
}

function complete(parts: Parts): Query {
  const { filter, limit, cursor } = parts;
  const skip = parts.skip ?? 0;
  if (cursor !== null && parts.skip !== null)
    throw invalid('A cursor is the start of the page; it cannot be used with skip');
  if (cursor !== null && limit === null) throw invalid('A cursor needs the limit of its page');
  const sort: Sort = parts.sort === null ? SORT_BY_ID : parseSort(parts.sort);
  const fields: FieldSelection | null = parts.fields === null ? null : parseFields(parts.fields);
  requireAffordableFilter(filter, QUERY_LIMITS.cost);
  return { filter, sort, fields, limit, cursor, skip, count: readCount(parts.count), expand: readExpand(parts.expand) };
}

/** `field`, or `field[op]`. */
function readName(name: string): [path: string, operator: string | null] {
  if (!/[[\]]/.test(name)) return [name, null];
  const [, path = '', operator = null] = CONDITION.exec(name) ?? [];
  if (path === '') throw unknownParameter(name);
  return [path, operator];
}

/** A path, in which `['…']` contains any name, and optionally an operator in brackets. */
const CONDITION = /^((?:[^[\]]|\['(?:[^'\\]|\\.)*'\])+)(?:\[([^[\]']+)\])?$/s;

function unknownParameter(name: string, hint = hintForName(name)): MillraceError {
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return new MillraceError('unknown-parameter', `Unknown parameter '${shown}'`, { hint });
}

function hintForName(name: string): string {
  if (/[[\]]/.test(name)) return 'Conditions are field=value or field[operator]=value.';
  const known = foreignParameterHint(name);
  if (known !== null || !name.startsWith('$')) return known ?? didYouMeanHint(name, RESERVED_PARAMETERS);
  return `A field with this name is written as ${clientPath(name)}.`;
}

function invalid(message: string, code: ErrorCode = 'invalid-parameter'): MillraceError {
  return new MillraceError(code, message);
}

function readJson(text: string): unknown {
  try {
    return parseJsonExactNames(text);
  } catch {
    throw invalid("The parameter 'filter' is not JSON", 'invalid-filter');
  }
}

const listOf = (text: string | null): string[] | null => (text === null ? null : splitPathList(text));

function wholeNumber(name: ReservedParameter, text: string | null, most: number): number | null {
  if (text === null) return null;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= most) return number;
  throw invalid(`The parameter '${name}' must be a whole number from 0 to ${most.toLocaleString('en')}`);
}

function jsonNumber(name: ReservedParameter, value: unknown, most: number): number | null {
  if (value === undefined) return null;
  return wholeNumber(name, typeof value === 'number' ? String(value) : '', most);
}

function jsonText(name: ReservedParameter, value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === 'string') return value;
  throw invalid(`'${name}' must be a string`);
}

/** `"a,b"` or `["a", "b"]`. */
function jsonList(name: ReservedParameter, value: unknown): readonly string[] | null {
  if (typeof value === 'string') return listOf(value);
  if (value === undefined) return null;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw invalid(`'${name}' must be a string or a list of strings`);
}

function readCount(text: string | null): CountMode {
  const count = COUNT_MODES.find((known) => known === (text ?? 'none'));
  if (count !== undefined) return count;
  throw invalid("The parameter 'count' must be none, estimated or exact");
}

const EXPANSION = /^((?:[^:[]|\['(?:[^'\\]|\\.)*'\]|\[(?!'))+):([^:]+)$/s;

function readExpand(texts: readonly string[] | null): readonly Expansion[] {
  const expand = (texts ?? []).map((text): Expansion => {
    const [, path = '', collection = ''] = EXPANSION.exec(text) ?? [];
    if (path !== '' && collection !== '') return { path: parseQueryPath(path, 'invalid-parameter'), collection };
    throw invalid("The parameter 'expand' must be a list of field:collection, such as authorId:users");
  });
  if (expand.length > QUERY_LIMITS.expansions)
    throw invalid(`At most ${QUERY_LIMITS.expansions} fields can be expanded`);
  if (new Set(expand.map(({ path }) => path)).size < expand.length) throw invalid('A field can be expanded only once');
  return expand;
}
