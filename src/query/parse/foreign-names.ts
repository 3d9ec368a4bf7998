/**
 * Names that other backends give to their parameters, and how the same is said here. No document has members with the
 * names in the first table, so a parameter of that name is refused. Those in the second table may be members and are
 * conditions here; they are explained only when they find nothing. Pure. Not here: what is done with a parameter
 * (parse-query.ts).
 */

const PAGE = 'Pages are limit=20, then cursor= and the Millrace-Next of the page before.';
const LIMIT = 'The size of a page is limit=20.';
const SKIP = 'Documents are passed over by skip=40; pages that follow each other are read by cursor.';
const SORT = 'An order is sort=-createdAt,name; - means descending.';
const FIELDS = 'The members to show are fields=title,author, or fields=-body to leave one out.';
const FILTER = 'Conditions are field=value, field[operator]=value or filter={"field":{"$gt":5}}.';
const SEARCH = 'A text is looked for in one field, as title[icontains]=word.';
const EXPAND = 'Documents that are named by an id are shown along by expand=authorId:users.';
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
  [PAGE, ['page', 'pagination']],
  [LIMIT, ['size', 'take', 'top', 'max_results', 'maxResults']],
  [SKIP, ['offset', 'start', 'end']],
  [SORT, ['order', 'orderby', 'ordering', 'sortOrder', 'sort_order', 'asc', 'desc']],
  [FIELDS, ['select', 'keys', 'projection', 'attributes']],
  [FILTER, ['where', 'query', 'filters']],
  [SEARCH, ['q', 'search']],
  [EXPAND, ['include', 'embed', 'populate']],
]);

/** How a parameter that is refused is said here; null for every other name. */
export function refusedName(name: string): string | null {
  return REFUSED.get(name) ?? null;
}

/** How any of the parameters of other backends is said here; null for every other name. */
export function foreignName(name: string): string | null {
  return REFUSED.get(name) ?? POSSIBLE.get(name) ?? null;
}

function byName(rows: readonly (readonly [told: string, names: readonly string[]])[]): ReadonlyMap<string, string> {
  return new Map(rows.flatMap(([told, names]) => names.map((name) => [name, told] as const)));
}
