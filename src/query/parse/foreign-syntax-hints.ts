/**
 * Names that other backends give to their parameters and operators, and the equivalents here. A parameter whose name is
 * in the first table is rejected, because no document has fields with these names. Those in the second table, and
 * operators in names and values, may be fields and values; they are explained only when they match nothing. Pure.
 */
import type { FilterOperator } from '../filter-operators.ts';

const PAGE = 'Pages are limit=20, then cursor= and the Millrace-Next of the page before.';
const LIMIT = 'The size of a page is limit=20.';
const SKIP = 'Documents are passed over by skip=40; pages that follow each other are read by cursor.';
const SORT = 'Sorting is sort=-createdAt,name; - means descending.';
const FIELDS = 'Select fields with fields=title,author, or exclude one with fields=-body.';
const FILTER = 'Conditions are field=value, field[operator]=value or filter={"field":{"$gt":5}}.';
const SEARCH = 'A text is searched for in one field, as title[icontains]=word.';
const EXPAND = 'Include referenced documents with expand=authorId:users.';
const COUNT = 'Counting is count=exact, and off without it.';

/** From json-server, PocketBase, Directus, Parse, OData, Feathers and frameworks for REST. */
const REFUSED: ReadonlyMap<string, string> = byName([
  [PAGE, ['_page', '$skiptoken']],
  [LIMIT, ['_limit', '_per_page', '_perPage', 'per_page', 'perPage', 'page_size', 'pageSize', '$top', '$limit']],
  [SKIP, ['_start', '_end', '_offset', '_skip', '$skip', '$offset']],
  [SORT, ['_sort', '_order', 'order_by', 'orderBy', 'sort_by', 'sortBy', '$orderby', '$orderBy', '$sort']],
  [FIELDS, ['_fields', '$select', 'excludeKeys']],
  [FILTER, ['_filter', '_where', '$filter', '$where']],
  [SEARCH, ['_q', '$search']],
  [EXPAND, ['_expand', '_embed', '$expand', '$include', '$populate']],
  [COUNT, ['$count', '$inlinecount', 'skipTotal']],
]);

const POSSIBLE: ReadonlyMap<string, string> = byName([
  [PAGE, ['page', 'pagination', 'range']],
  [LIMIT, ['size', 'take', 'top', 'max_results', 'maxResults']],
  [SKIP, ['offset', 'start', 'end']],
  [SORT, ['order', 'orderby', 'ordering', 'sortOrder', 'sort_order', 'asc', 'desc']],
  [FIELDS, ['select', 'keys', 'projection', 'attributes']],
  [FILTER, ['where', 'query', 'filters']],
  [SEARCH, ['q', 'search']],
  [EXPAND, ['include', 'embed', 'populate']],
]);

/** The equivalent of a rejected parameter; null for every other name. */
export function rejectedParameterHint(name: string): string | null {
  return REFUSED.get(name) ?? null;
}

/** The equivalent of any parameter of other backends; null for every other name. */
export function foreignParameterHint(name: string): string | null {
  const lower = name.toLowerCase();
  return REFUSED.get(name) ?? POSSIBLE.get(name) ?? POSSIBLE.get(lower) ?? null;
}

/** Operators of PostgREST, Django, Strapi, json-server, OData and others, in lower case. */
const FOREIGN_OPERATORS: ReadonlyMap<string, FilterOperator> = new Map<string, FilterOperator>([
  ['=', 'eq'],
  ['==', 'eq'],
  ['eq', 'eq'],
  ['equals', 'eq'],
  ['exact', 'eq'],
  ['is', 'eq'],
  ['!', 'ne'],
  ['!=', 'ne'],
  ['<>', 'ne'],
  ['ne', 'ne'],
  ['neq', 'ne'],
  ['not', 'ne'],
  ['>', 'gt'],
  ['gt', 'gt'],
  ['after', 'gt'],
  ['>=', 'gte'],
  ['gte', 'gte'],
  ['ge', 'gte'],
  ['min', 'gte'],
  ['<', 'lt'],
  ['lt', 'lt'],
  ['before', 'lt'],
  ['<=', 'lte'],
  ['lte', 'lte'],
  ['le', 'lte'],
  ['max', 'lte'],
  ['like', 'like'],
  ['ilike', 'ilike'],
  ['~', 'contains'],
  ['contains', 'contains'],
  ['icontains', 'icontains'],
  ['containsi', 'icontains'],
  ['startswith', 'startsWith'],
  ['starts_with', 'startsWith'],
  ['endswith', 'endsWith'],
  ['ends_with', 'endsWith'],
  ['match', 'regex'],
  ['imatch', 'regex'],
  ['regex', 'regex'],
  ['in', 'in'],
  ['nin', 'nin'],
  ['notin', 'nin'],
  ['cs', 'all'],
  ['exists', 'exists'],
]);

/** `price__gte`, `price_gte`, `price:gte`, `price.gte` and `price$gte`; `price>`, as `price>=5` is read. */
const NAME_WITH_OPERATOR = /^(.+?)(?:(?:__|[_:.$])([a-z]+(?:_with)?)|([<>!~]=?)(.*))$/i;

/**
 * The equivalent of a condition whose operator is part of the field name.
 * @param names fields that documents have; only one of them is taken for the intended field
 */
export function foreignConditionHint(path: string, names: readonly string[]): string | null {
  const [, field = '', word, sign, operand = ''] = NAME_WITH_OPERATOR.exec(path) ?? [];
  const operator = FOREIGN_OPERATORS.get((word ?? sign ?? '').toLowerCase());
  const name = names.find((one) => one.toLowerCase() === field.toLowerCase());
  if (operator === undefined || name === undefined) return null;
  const sorted = sign !== undefined && operand === '' ? withEqual(operator) : operator;
  return `An operator is written ${formatCondition(name, sorted, operand || 'value')}.`;
}

/** `price>=5` is parsed as the name `price>` and the value `5`. */
function withEqual(operator: FilterOperator): FilterOperator {
  if (operator === 'gt') return 'gte';
  return operator === 'lt' ? 'lte' : operator;
}

const VALUE_WITH_OPERATOR = /^(not\.)?(?:([a-z]{2,9})([.:])|([<>]=?|!=|==))(.+)$/is;
/** Words that are operators before a colon, too; others are more likely to be words of a text. */
const BEFORE_COLONS: ReadonlySet<string> = new Set(['eq', 'ne', 'neq', 'gt', 'gte', 'lt', 'lte', 'like', 'ilike']);

/** The equivalent of a condition whose operator is before its value, as `eq.5`, `gte:5` and `>5`; null for others. */
export function foreignOperatorHint(name: string, value: string): string | null {
  const [, negated, word = '', mark, sign = '', operand = ''] = VALUE_WITH_OPERATOR.exec(value) ?? [];
  const known = (word || sign).toLowerCase();
  const operator = FOREIGN_OPERATORS.get(known);
  if (operator === undefined || (mark === ':' && !BEFORE_COLONS.has(known))) return null;
  if (known === 'is' && !/^(?:null|true|false)$/i.test(operand)) return null;
  const listed = /^[({](.*)[)}]$/s.exec(operand)?.[1];
  if ((known === 'in' || known === 'cs') && listed === undefined) return null;
  const bare = known === 'imatch' ? `(?i)${operand}` : (listed ?? operand);
  if (negated === undefined) return formatCondition(name, operator, bare);
  const opposite = OPPOSITES[operator];
  if (opposite !== undefined) return formatCondition(name, opposite, bare);
  return `filter={${JSON.stringify(name)}:{"$not":{"$${operator}":${JSON.stringify(bare)}}}}`;
}

const OPPOSITES: Readonly<Partial<Record<FilterOperator, FilterOperator>>> = { eq: 'ne', in: 'nin' };

/** A condition in the short form. */
export function formatCondition(name: string, operator: FilterOperator, value: string): string {
  return operator === 'eq' ? `${name}=${value}` : `${name}[${operator}]=${value}`;
}

function byName(rows: readonly (readonly [told: string, names: readonly string[]])[]): ReadonlyMap<string, string> {
  return new Map(rows.flatMap(([reported, names]) => names.map((name) => [name, reported] as const)));
}
