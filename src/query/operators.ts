/**
 * How operators of filters are read, and how a test is attached to a path. Both written forms, short and JSON, end
 * here, so they mean the same and are rejected with the same error, `invalid-filter`.
 */
import { didYouMeanHint } from '../lib/did-you-mean.ts';
import { MillraceError } from '../lib/errors.ts';
import {
  and,
  BSON_TYPE_NAMES,
  type BsonTypeName,
  fieldFilter,
  matchAllFilter,
  matchNoneFilter,
  not,
  or,
  type UnboundFieldTest,
  type UnboundFilter,
  Variable,
} from './filter.ts';
import { FILTER_OPERATORS, type FilterOperator } from './filter-operators.ts';
import { QUERY_LIMITS } from './limits.ts';
import { possibleValuesAtPath, type UnboundValue } from './parse-values.ts';

/** What the text operators search for, and whether letter case counts. */
export const TEXT_OPERATORS = {
  contains: { how: 'contains', fold: false },
  icontains: { how: 'contains', fold: true },
  startsWith: { how: 'startsWith', fold: false },
  endsWith: { how: 'endsWith', fold: false },
  like: { how: 'like', fold: false },
  ilike: { how: 'like', fold: true },
} as const;

/**
 * The operator of that name.
 * @throws MillraceError `unknown-operator` with the nearest known name
 */
export function parseOperator(name: string): FilterOperator {
  const operator = FILTER_OPERATORS.find((known) => known === name);
  if (operator !== undefined) return operator;
  throw unknownOperator(name, FILTER_OPERATORS);
}

export function unknownOperator(name: string, known: readonly string[]): MillraceError {
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return new MillraceError('unknown-operator', `Unknown operator '${shown}'`, { hint: didYouMeanHint(name, known) });
}

export function invalidFilter(message: string, hint?: string): MillraceError {
  return new MillraceError('invalid-filter', message, hint === undefined ? {} : { hint });
}

export function parseTypeName(name: unknown): BsonTypeName {
  const type = BSON_TYPE_NAMES.find((known) => known === name);
  if (type !== undefined) return type;
  throw invalidFilter(`Unknown type '${String(name).slice(0, 60)}'`, didYouMeanHint(String(name), BSON_TYPE_NAMES));
}

/** A list within its limit, or an error. */
export function requireListLimit<T>(
  values: readonly T[],
  what: string,
  limit: number = QUERY_LIMITS.listValues,
): readonly T[] {
  if (values.length <= limit) return values;
  throw invalidFilter(`${what} has more than ${limit.toLocaleString('en')} values`);
}

/** A text to search for, within its limit. */
export function requireTextLimit<T>(text: T, operator: string): T {
  if (typeof text !== 'string' || text.length <= QUERY_LIMITS.textLength) return text;
  throw invalidFilter(
    `The text of '${operator}' is longer than ${QUERY_LIMITS.textLength.toLocaleString('en')} characters`,
  );
}

/**
 * All of the tests at a stored path of the document itself, where `_id` and the times of `_meta` have several
 * spellings: a test passes if one of the spellings does.
 */
export function buildPathFilter(path: string, tests: readonly UnboundFieldTest[]): UnboundFilter {
  return and(tests.map((test) => testAt(path, test)));
}

function testAt(path: string, test: UnboundFieldTest): UnboundFilter {
  switch (test.op) {
    case 'in':
      return fieldFilter(path, { op: 'in', values: possibleValuesAtPath(path, test.values) });
    case 'all':
      if (test.values.length === 0) return matchNoneFilter;
      return and(test.values.map((value) => fieldFilter(path, itemOfAll(path, value))));
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return or(possibleValuesAtPath(path, [test.value]).map((value) => fieldFilter(path, { op: test.op, value })));
    case 'not':
      return test.tests.length === 0 ? not(matchAllFilter) : not(buildPathFilter(path, test.tests));
    case 'exists':
    case 'type':
    case 'size':
    case 'text':
    case 'regex':
    case 'elem':
    case 'elemWhere':
      return fieldFilter(path, test);
    default:
      return test satisfies never;
  }
}

/** One value of `all`. A variable stays in place: if it is bound to a list, each of its items is required. */
function itemOfAll(path: string, value: UnboundValue): UnboundFieldTest {
  if (value instanceof Variable) return { op: 'all', values: [value] };
  return { op: 'in', values: possibleValuesAtPath(path, [value]) };
}
