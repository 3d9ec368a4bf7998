/** The query language in the OpenAPI document: the parameters of a list, the body of `_query`, and their errors. */
import type { ErrorCode } from '../../lib/errors.ts';
import type { Parameter } from '../../openapi/parameters.ts';
import { queryParameter } from '../../openapi/parameters.ts';
import { namedSchema } from '../../openapi/schema.ts';
import { QUERY_LIMITS } from '../limits.ts';
import type { ReservedParameter } from './parse-query.ts';
import { COUNT_MODES } from './query.ts';

/** Field names to include. */
const FIELDS = queryParameter('fields', 'Fields to include, as a,b.c, or to leave out, as -a,-b.');
const EXPAND = queryParameter('expand', 'Referenced documents to include, as authorId:users.');
const LIMIT = { type: 'integer', minimum: 0, maximum: QUERY_LIMITS.limit };
const SKIP = { type: 'integer', minimum: 0, maximum: QUERY_LIMITS.skip };

/** Parameters of a response with one document. */
export const DOCUMENT_PARAMETERS: readonly Parameter[] = [FIELDS, EXPAND];

const FILTER: Parameter = {
  name: 'filter',
  in: 'query',
  description: 'A filter as JSON, such as {"stars":{"$gte":4}}.',
  schema: { type: 'string' },
};

/** The filter, in the two ways to write it in a URL. */
export const FILTER_PARAMETERS: readonly Parameter[] = [
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
const PARAMETERS: Readonly<Record<ReservedParameter, readonly Parameter[]>> = {
  filter: FILTER_PARAMETERS,
  sort: [queryParameter('sort', `Up to ${QUERY_LIMITS.sortKeys} fields, as -stars,name.`)],
  fields: [FIELDS],
  limit: [queryParameter('limit', 'Documents of a page; without it, all of them.', LIMIT)],
  cursor: [queryParameter('cursor', 'Where to continue: the Millrace-Next of the previous page.')],
  skip: [queryParameter('skip', 'Documents to skip.', SKIP)],
  count: [queryParameter('count', 'Whether to count, in Millrace-Count.', { type: 'string', enum: [...COUNT_MODES] })],
  expand: [EXPAND],
};

/** The parameters of a list. */
export const LIST_QUERY_PARAMETERS: readonly Parameter[] = Object.values(PARAMETERS).flat();

const texts = { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] };

/** The body of `_query`. */
export const QUERY_BODY = namedSchema('DocumentQuery', {
  type: 'object',
  description: 'The parameters of a list as JSON.',
  properties: {
    filter: { type: 'object' },
    sort: texts,
    fields: texts,
    limit: LIMIT,
    cursor: { type: 'string' },
    skip: SKIP,
    count: { enum: [...COUNT_MODES] },
    expand: texts,
  } satisfies Readonly<Record<ReservedParameter, object>>,
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

/** Errors of parsing a query. */
export const QUERY_ERRORS: readonly ErrorCode[] = [
  'unknown-parameter',
  'invalid-parameter',
  'unknown-operator',
  'invalid-filter',
  'filter-too-expensive',
  'cursor-mismatch',
  'sort-not-possible',
  'json-too-deep',
  'field-hidden',
];
