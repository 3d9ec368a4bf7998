/** The conditions of a filter, as text of the REST query and as rows of a form. */

export interface Condition {
  /** Dots lead into objects: `address.city`. */
  readonly path: string;
  readonly operator: string;
  /** As in the query: `7` is a number, `"7"` a text, `a,b` a list for `in`. */
  readonly value: string;
}

/** The operators of docs/api.md, with words for people. */
export const OPERATORS = [
  { value: 'eq', label: 'is' },
  { value: 'ne', label: 'is not' },
  { value: 'gt', label: 'is greater than' },
  { value: 'gte', label: 'is at least' },
  { value: 'lt', label: 'is less than' },
  { value: 'lte', label: 'is at most' },
  { value: 'icontains', label: 'contains' },
  { value: 'contains', label: 'contains (same case)' },
  { value: 'startsWith', label: 'starts with' },
  { value: 'endsWith', label: 'ends with' },
  { value: 'like', label: 'is like (* any text)' },
  { value: 'ilike', label: 'is like (any case)' },
  { value: 'regex', label: 'matches the pattern' },
  { value: 'in', label: 'is one of' },
  { value: 'nin', label: 'is none of' },
  { value: 'all', label: 'has all of' },
  { value: 'size', label: 'has this many elements' },
  { value: 'exists', label: 'exists (true, false)' },
  { value: 'type', label: 'has the type' },
] as const;

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
