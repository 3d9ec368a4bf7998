/** The operators of filters. Pure, without imports: the dashboard uses the table. */

/** Names as the short form has them; the JSON form puts `$` before. */
export const FILTER_OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'nin',
  'exists',
  'type',
  'contains',
  'icontains',
  'startsWith',
  'endsWith',
  'like',
  'ilike',
  'all',
  'size',
  'regex',
] as const;

export type FilterOperator = (typeof FILTER_OPERATORS)[number];
