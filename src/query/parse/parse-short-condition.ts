/**
 * The short form of a condition, as in URLs: `field=value`, `field[op]=value`. Parses one condition, or rejects it with
 * `invalid-filter` when the value does not suit the operator.
 */

import { clientPath } from '../field-paths.ts';
import { and, fieldFilter, or, type UnboundFilter, type Variable } from '../filter.ts';
import type { FilterOperator } from '../filter-operators.ts';
import {
  buildPathFilter,
  invalidFilter,
  parseTypeName,
  requireListLimit,
  requireTextLimit,
  TEXT_OPERATORS,
} from '../operators.ts';
import { parseShortValue, possibleValuesAtPath, type UnboundValue, unquote } from '../parse-values.ts';
import { parseTextOrVariable } from '../parse-variables.ts';
import type { PatternValidator } from '../text/pattern.ts';

/** `field=a&field=b`: equal to any of the values. */
export function parseEqualsCondition(path: string, texts: readonly string[]): UnboundFilter {
  const values = requireListLimit(texts, `'${clientPath(path)}'`).flatMap((text) => parseShortValue(text).equal);
  return buildPathFilter(path, [{ op: 'in', values }]);
}

/**
 * Parses `field[op]=text`.
 * @param patterns the patterns of the filter that this condition belongs to
 * @throws MillraceError `invalid-filter` when the text does not suit the operator
 */
export function parseShortCondition(
  path: string,
  operator: FilterOperator,
  text: string,
  patterns: PatternValidator,
): UnboundFilter {
  switch (operator) {
    case 'eq':
      return parseEqualsCondition(path, [text]);
    case 'ne':
      return buildPathFilter(path, [{ op: 'not', tests: [{ op: 'in', values: parseShortValue(text).equal }] }]);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return or(
        possibleValuesAtPath(path, parseShortValue(text).ordered).map((value) =>
          fieldFilter(path, { op: operator, value }),
        ),
      );
    case 'in':
      return buildPathFilter(path, [{ op: 'in', values: equalToItems(operator, text) }]);
    case 'nin':
      return buildPathFilter(path, [{ op: 'not', tests: [{ op: 'in', values: equalToItems(operator, text) }] }]);
    case 'all':
      return allOf(path, text);
    case 'exists':
      if (text === 'true' || text === 'false') return fieldFilter(path, { op: 'exists', exists: text === 'true' });
      throw invalidFilter(`'exists' of '${clientPath(path)}' must be true or false`);
    case 'type':
      return fieldFilter(path, { op: 'type', types: items(operator, text).map(parseTypeName) });
    case 'size':
      return fieldFilter(path, { op: 'size', size: readSize(text) });
    case 'regex':
      return fieldFilter(path, { op: 'regex', pattern: patterns.check(text.startsWith('"') ? unquote(text) : text) });
    case 'contains':
    case 'icontains':
    case 'startsWith':
    case 'endsWith':
    case 'like':
    case 'ilike':
      return fieldFilter(path, { op: 'text', ...TEXT_OPERATORS[operator], text: readTextOperand(operator, text) });
    default:
      return operator satisfies never;
  }
}

function equalToItems(operator: FilterOperator, text: string): UnboundValue[] {
  return items(operator, text).flatMap((item) => parseShortValue(item).equal);
}

/** An array has all of the items when for each of them one element is equal to it. */
function allOf(path: string, text: string): UnboundFilter {
  return and(
    items('all', text).map((item) => {
      const { ordered } = parseShortValue(item);
      return buildPathFilter(path, [{ op: ordered.length === 1 ? 'all' : 'in', values: ordered }]);
    }),
  );
}

function readTextOperand(operator: FilterOperator, text: string): string | Variable {
  return requireTextLimit(text.startsWith('"') ? unquote(text) : parseTextOrVariable(text), operator);
}

function readSize(text: string): number {
  const size = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (size >= 0) return size;
  throw invalidFilter("'size' must be a whole number from 0");
}

const ITEM = /"(?:[^"\\]|\\.)*"(?=,|$)|[^",][^,]*|(?=,|$)/y;

/** The items of a comma list, quotes kept; a quoted item may contain a comma. */
function items(operator: FilterOperator, text: string): readonly string[] {
  const found: string[] = [];
  let at = 0;
  do {
    ITEM.lastIndex = at;
    const item = ITEM.exec(text)?.[0];
    if (item === undefined) throw invalidFilter(`The list of '${operator}' has an unclosed quote`);
    found.push(item);
    at += item.length + 1;
  } while (at <= text.length);
  return requireListLimit(found, `'${operator}'`);
}
