/**
 * The query language as the contract describes it: the parameters of a list, the body of `_query`, and what is refused.
 * Not here: reading them (parse-query.ts).
 */
import type { Parameter } from '../../contract/parameters.ts';
import { queryParameter } from '../../contract/parameters.ts';
import { shape } from '../../contract/schema.ts';
import type { ErrorCode } from '../../kernel/errors.ts';
import { LIMITS } from '../limits.ts';
import type { Reserved } from './parse-query.ts';
import { COUNTS } from './query.ts';

/** Names of members to show. */
const FIELDS = queryParameter('fields', 'Members to show, as a,b.c, or to leave out, as -a,-b.');
const EXPAND = queryParameter('expand', 'Documents named by an id to show along, as authorId:users.');
const LIMIT = { type: 'integer', minimum: 0, maximum: LIMITS.limit };
const SKIP = { type: 'integer', minimum: 0, maximum: LIMITS.skip };

/** What one document may be shown with. */
export const SHOWING: readonly Parameter[] = [FIELDS, EXPAND];

const FILTER: Parameter = {
  name: 'filter',
  in: 'query',
  description: 'A filter as JSON, such as {"stars":{"$gte":4}}.',
  content: { 'application/json': { schema: { type: 'object' } } },
};

/** Which documents: the two ways to write it in an address. */
export const FILTERS: readonly Parameter[] = [
  FILTER,
  {
    name: 'conditions',
    in: 'query',
    description: 'Any other parameter is a condition: field=value or field[operator]=value.',
    style: 'form',
    explode: true,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  },
];

/** A list: every parameter that is not a condition. */
const PARAMETERS: Readonly<Record<Reserved, readonly Parameter[]>> = {
  filter: FILTERS,
  sort: [queryParameter('sort', `Up to ${LIMITS.sortKeys} fields, as -stars,name.`)],
  fields: [FIELDS],
  limit: [queryParameter('limit', 'Documents of a page; all of them without.', LIMIT)],
  cursor: [queryParameter('cursor', 'Where to go on: the Millrace-Next of the page before.')],
  skip: [queryParameter('skip', 'Documents to pass over.', SKIP)],
  count: [queryParameter('count', 'Whether to count, in Millrace-Count.', { type: 'string', enum: [...COUNTS] })],
  expand: [EXPAND],
};

/** The parameters of a list. */
export const LIST: readonly Parameter[] = Object.values(PARAMETERS).flat();

const texts = { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] };

/** The body of `_query`. */
export const QUERY_BODY = shape('Query', {
  type: 'object',
  description: 'The parameters of a list as JSON.',
  properties: {
    filter: { type: 'object' },
    sort: texts,
    fields: texts,
    limit: LIMIT,
    cursor: { type: 'string' },
    skip: SKIP,
    count: { enum: [...COUNTS] },
    expand: texts,
  } satisfies Readonly<Record<Reserved, object>>,
  additionalProperties: false,
});

/** Headers of a list. */
export const LIST_HEADERS = [
  'Millrace-Position',
  'Link',
  'Millrace-Next',
  'Millrace-Count',
  'Millrace-Count-Kind',
] as const;

/** What reading a query refuses. */
export const QUERY_ERRORS: readonly ErrorCode[] = [
  'unknown-parameter',
  'invalid-parameter',
  'unknown-operator',
  'invalid-filter',
  'too-expensive',
  'cursor-mismatch',
  'sort-impossible',
  'too-deep',
  'field-hidden',
];
