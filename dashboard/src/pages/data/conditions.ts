/** The conditions of a filter, as text of the REST query and as rows of a form. */
import type { FilterOperator } from '../../../../src/query/filter-operators.ts';

export interface Condition {
  /** Dots lead into objects: `address.city`. */
  readonly path: string;
  readonly operator: string;
  /** As in the query: `7` is a number, `"7"` a text, `a,b` a list for `in`. */
  readonly value: string;
}

/** The operators of docs/api.md, with words for people, in the order of the form. */
const OPERATOR_LABELS: Readonly<Record<FilterOperator, string>> = {
  eq: 'is',
  ne: 'is not',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  icontains: 'contains',
  contains: 'contains (same case)',
  startsWith: 'starts with',
  endsWith: 'ends with',
  like: 'is like (* any text)',
  ilike: 'is like (any case)',
  regex: 'matches the pattern',
  in: 'is one of',
  nin: 'is none of',
  all: 'has all of',
  size: 'has this many elements',
  exists: 'exists (true, false)',
  type: 'has the type',
};

export const OPERATORS = Object.entries(OPERATOR_LABELS).map(([value, label]) => ({ value, label }));

/** The parameter that contains a condition as JSON. */
export const JSON_FILTER = 'filter';

/** `done=false&seq[gte]=3` as conditions. Unparseable text stays unchanged, and the server reports the error. */
export function readConditions(q: string): readonly Condition[] {
  return [...new URLSearchParams(q)].map(([name, value]) => {
    const [, path = name, operator = 'eq'] = /^(.*)\[(\w+)\]$/.exec(name) ?? [];
    return { path, operator, value };
  });
}

/** The query text, readable: only what would be misread is written as %XX. */
export function writeConditions(conditions: readonly Condition[]): string {
  return conditions
    .map(({ path, operator, value }) => {
      const name = operator === 'eq' && !PARAMETERS.includes(path) ? path : `${path}[${operator}]`;
      return `${readable(path === JSON_FILTER && operator === 'eq' ? path : name)}=${readable(value)}`;
    })
    .join('&');
}

/** Fields with these names need an operator, because they are parameters of lists. */
const PARAMETERS = ['sort', 'fields', 'limit', 'cursor', 'skip', 'count', 'expand'];

function readable(text: string): string {
  return encodeURIComponent(text)
    .replace(/%(?:5B|5D|2C|3A|24|22|7B|7D)/g, decodeURIComponent)
    .replaceAll('%20', '+');
}
