/**
 * The short form of a condition, as in URLs: `field=value`, `field[op]=value`. Parses one condition, or rejects it with
 * `invalid-filter` when the value does not suit the operator.
 */
import { and, field, type OpenFilter, or, type Variable } from '../filter.ts';
import {
  bounded,
  boundedText,
  invalidFilter,
  type Operator,
  readTypeName,
  TEXT_OPERATORS,
  testsAt,
} from '../operators.ts';
import { type OpenValue, readShortValue, unquote, valuesAt } from '../parse-values.ts';
import { writtenPath } from '../paths.ts';
import type { Patterns } from '../text/pattern.ts';
import { readText } from '../variables.ts';

/** `field=a&field=b`: equal to any of the values. */
export function parseEquals(path: string, texts: readonly string[]): OpenFilter {
  const values = bounded(texts, `'${writtenPath(path)}'`).flatMap((text) => readShortValue(text).equal);
  return testsAt(path, [{ op: 'in', values }]);
}

/**
 * Parses `field[op]=text`.
 * @param patterns the patterns of the filter that this condition belongs to
 * @throws MillraceError `invalid-filter` when the text does not suit the operator
 */
export function parseShort(path: string, operator: Operator, text: string, patterns: Patterns): OpenFilter {
  switch (operator) {
    case 'eq':
      return parseEquals(path, [text]);
    case 'ne':
      return testsAt(path, [{ op: 'not', tests: [{ op: 'in', values: readShortValue(text).equal }] }]);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return or(valuesAt(path, readShortValue(text).ordered).map((value) => field(path, { op: operator, value })));
    case 'in':
      return testsAt(path, [{ op: 'in', values: equalToItems(operator, text) }]);
    case 'nin':
      return testsAt(path, [{ op: 'not', tests: [{ op: 'in', values: equalToItems(operator, text) }] }]);
    case 'all':
      return allOf(path, text);
    case 'exists':
      if (text === 'true' || text === 'false') return field(path, { op: 'exists', exists: text === 'true' });
      throw invalidFilter(`'exists' of '${writtenPath(path)}' must be true or false`);
    case 'type':
      return field(path, { op: 'type', types: items(operator, text).map(readTypeName) });
    case 'size':
      return field(path, { op: 'size', size: readSize(text) });
    case 'regex':
      return field(path, { op: 'regex', pattern: patterns.check(text.startsWith('"') ? unquote(text) : text) });
    case 'contains':
    case 'icontains':
    case 'startsWith':
    case 'endsWith':
    case 'like':
    case 'ilike':
      return field(path, { op: 'text', ...TEXT_OPERATORS[operator], text: readTextOperand(operator, text) });
    default:
      return operator satisfies never;
  }
}

function equalToItems(operator: Operator, text: string): OpenValue[] {
  return items(operator, text).flatMap((item) => readShortValue(item).equal);
}

/** An array has all of the items when for each of them one element is equal to it. */
function allOf(path: string, text: string): OpenFilter {
  return and(
    items('all', text).map((item) => {
      const { ordered } = readShortValue(item);
      return testsAt(path, [{ op: ordered.length === 1 ? 'all' : 'in', values: ordered }]);
    }),
  );
}

function readTextOperand(operator: Operator, text: string): string | Variable {
  return boundedText(text.startsWith('"') ? unquote(text) : readText(text), operator);
}

function readSize(text: string): number {
  const size = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (size >= 0) return size;
  throw invalidFilter("'size' must be a whole number from 0");
}

const ITEM = /"(?:[^"\\]|\\.)*"(?=,|$)|[^",][^,]*|(?=,|$)/y;

/** The items of a comma list, quotes kept; a quoted item may contain a comma. */
function items(operator: Operator, text: string): readonly string[] {
  const found: string[] = [];
  let at = 0;
  do {
    ITEM.lastIndex = at;
    const item = ITEM.exec(text)?.[0];
    if (item === undefined) throw invalidFilter(`The list of '${operator}' has an unclosed quote`);
    found.push(item);
    at += item.length + 1;
  } while (at <= text.length);
  return bounded(found, `'${operator}'`);
}
