/** The operations of the events API in the OpenAPI document, and the schema of an event. */
import Type from 'typebox';
import { COLLECTION_PARAMETER } from '../../database/parse-collection-name.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { type ApiResponse, declareOperation } from '../../openapi/operation.ts';
import { idParameter, type Parameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema, DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';
import { FILTER_PARAMETERS, QUERY_ERRORS } from '../../query/parse/query-openapi.ts';
import { MAX_FEED_LIMIT, MAX_FEED_WAIT_S } from '../read/feed-query.ts';

const tag = 'events';

/** The schema of an event, used wherever the OpenAPI document contains one. */
export const EVENT_SCHEMA = namedSchema(
  'EventRecord',
  Type.Object(
    {
      id: Type.String({ description: 'Its position in the log.' }),
      type: Type.String(),
      timestamp: DATE_TIME_SCHEMA,
      collection: nullable(Type.String()),
      documentId: nullable(Type.String()),
      revision: nullable(Type.Integer()),
      changed: nullable(Type.Array(Type.String())),
      actor: nullable(Type.Object({ kind: Type.String(), id: Type.String() })),
      request: nullable(Type.String()),
      transaction: nullable(Type.String()),
      data: nullable(Type.Object({})),
      before: nullable(Type.Object({})),
    },
    { description: 'One change.' },
  ),
);

const FEED = [
  queryParameter('since', 'A position: later events. Without it: events from now on.'),
  queryParameter('wait', 'Seconds to wait for an event.', {
    type: 'integer',
    minimum: 0,
    maximum: MAX_FEED_WAIT_S,
  }),
  queryParameter(
    'limit',
    'The most events of one answer.',
    { type: 'integer', minimum: 1, maximum: MAX_FEED_LIMIT },
    'eventLimit',
  ),
];

const FEED_ERRORS: readonly ErrorCode[] = [
  'unknown-parameter',
  'invalid-parameter',
  'position-expired',
  'position-unknown',
  'epoch-changed',
];

const page = (field: string): ApiResponse => ({
  description: 'The events, and the position for the next request.',
  headers: ['Millrace-Position'],
  schema: {
    type: 'object',
    required: [field, 'position'],
    properties: { [field]: arraySchema(EVENT_SCHEMA), position: { type: 'string' } },
  },
});

const EVENT_FILTER: Parameter = {
  name: 'filter',
  in: 'query',
  description: 'A filter of the event as JSON, such as {"actor.id":"u1","data.size":{"$gt":1000}}.',
  schema: { type: 'string' },
  meaning: 'eventFilter',
};

export const LIST_EVENTS_OPERATION = declareOperation({
  id: 'listEvents',
  tag,
  as: true,
  summary: 'Follow all events',
  parameters: [
    ...FEED,
    queryParameter('last', 'Instead of since: the matching events among this many of the newest rows of the log.', {
      type: 'integer',
      minimum: 1,
      maximum: MAX_FEED_LIMIT,
    }),
    queryParameter('types', 'Event types, such as todos.created,system.file.*'),
    EVENT_FILTER,
  ],
  responses: { 200: page('events') },
  errors: [...FEED_ERRORS, ...QUERY_ERRORS],
});

export const COLLECTION_CHANGES_OPERATION = declareOperation({
  id: 'listDocumentChanges',
  tag,
  as: true,
  summary: 'Follow the changes of a collection',
  parameters: [COLLECTION_PARAMETER, ...FEED, ...FILTER_PARAMETERS],
  responses: { 200: page('changes') },
  errors: [...FEED_ERRORS, ...QUERY_ERRORS, 'invalid-collection-name'],
});

export const DOCUMENT_HISTORY_OPERATION = declareOperation({
  id: 'listDocumentHistory',
  tag,
  as: true,
  summary: 'Get the history of a document',
  description:
    'Its events, newest first, for the whole retention time, also if the document was deleted. A page may be short or ' +
    'empty although there are more: `next` is null when there are none.',
  parameters: [
    COLLECTION_PARAMETER,
    idParameter('id', 'the document', 'documentId'),
    queryParameter(
      'limit',
      'The most events of one answer.',
      { type: 'integer', minimum: 1, maximum: MAX_FEED_LIMIT },
      'eventLimit',
    ),
    queryParameter('cursor', 'The `next` of the page before.', undefined, 'historyCursor'),
  ],
  responses: {
    200: {
      description: 'The events, and the cursor of the next page.',
      schema: {
        type: 'object',
        required: ['events', 'next'],
        properties: { events: arraySchema(EVENT_SCHEMA), next: nullable(Type.String()) },
      },
    },
  },
  errors: ['unknown-parameter', 'invalid-parameter', 'invalid-collection-name', 'cursor-mismatch', 'query-timeout'],
});
