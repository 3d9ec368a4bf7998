/** Operations on documents in the OpenAPI document: for any collection, and for each existing one. */
import Type from 'typebox';
import { DOCUMENT_BODY_SCHEMA, NEW_DOCUMENT_SCHEMA } from '../../database/json/document-openapi-schemas.ts';
import { COLLECTION_PARAMETER } from '../../database/parse-collection-name.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import {
  type ApiResponse,
  type DescribedCollection,
  declareCollectionOperation,
  jsonBody,
} from '../../openapi/operation.ts';
import { headerParameter, IF_MATCH, IF_NONE_MATCH, idParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import {
  DOCUMENT_PARAMETERS,
  FILTER_PARAMETERS,
  LIST_HEADERS,
  LIST_QUERY_PARAMETERS,
  QUERY_BODY,
  QUERY_ERRORS,
} from '../../query/parse/query-openapi.ts';
import { MAX_BULK_DOCUMENTS } from '../bulk-writes.ts';
import { PATCH_BODIES } from '../patch/patch-bodies.ts';
import { IDEMPOTENCY_KEY_PATTERN } from './idempotency.ts';

const tag = 'documents';

export const DOCUMENT_ID_PARAMETER = idParameter('id', 'the document', 'documentId');
const ONE = [COLLECTION_PARAMETER, DOCUMENT_ID_PARAMETER];
const PREFER = headerParameter('Prefer', 'return=minimal or return=representation (RFC 7240).');
export const IDEMPOTENCY_KEY_HEADER = headerParameter(
  'Idempotency-Key',
  'Requests with the same key are executed once, however often they are sent.',
  {
    type: 'string',
    pattern: IDEMPOTENCY_KEY_PATTERN.source,
  },
);
const WRITE = [IF_MATCH, PREFER, IDEMPOTENCY_KEY_HEADER];
const UPSERT = queryParameter('upsert', 'Creates the document when there is none.', { type: 'boolean' });
/** The target of a write by filter: which documents, and the maximum number. */
const MAX_AFFECTED = {
  ...headerParameter(
    'Prefer',
    'The most documents that may be touched, such as max-affected=100.',
    {
      type: 'string',
      pattern: '^max-affected=[0-9]{1,9}$',
    },
    'maxAffected',
  ),
  required: true,
} as const;
const BULK = [COLLECTION_PARAMETER, ...FILTER_PARAMETERS, MAX_AFFECTED, IDEMPOTENCY_KEY_HEADER];

const NAMED: readonly ErrorCode[] = ['invalid-collection-name'];
export const DOCUMENT_NOT_FOUND_ERRORS: readonly ErrorCode[] = [
  ...NAMED,
  'resource-not-available',
  'document-not-found',
];
const KEYED: readonly ErrorCode[] = ['idempotency-key-in-use', 'idempotency-key-reused', 'response-too-large'];
/** Errors of write hooks. */
const SEEN: readonly ErrorCode[] = [
  'rejected-by-function',
  'write-hook-unavailable',
  'function-failed',
  'functions-disabled',
  'function-out-of-memory',
  'function-runtime-restarted',
  'function-quarantined',
  'function-timeout',
];
const WRITING: readonly ErrorCode[] = [
  ...KEYED,
  ...SEEN,
  'unknown-parameter',
  'unique-violation',
  'write-conflict',
  'field-hidden',
  'field-not-writable',
  'storage-full',
];
const LISTING: readonly ErrorCode[] = [...NAMED, ...QUERY_ERRORS, 'resource-not-available', 'response-too-large'];
export const BULK_WRITE_ERRORS: readonly ErrorCode[] = [
  ...NAMED,
  ...QUERY_ERRORS,
  ...WRITING,
  'resource-not-available',
  'max-affected-required',
  'too-many-affected',
];

/** A name of its own, because generators would name it after the operation of one collection. */
const ONE_OR_MANY = namedSchema('DocumentInputOrList', {
  oneOf: [NEW_DOCUMENT_SCHEMA, { ...arraySchema(NEW_DOCUMENT_SCHEMA), minItems: 1, maxItems: MAX_BULK_DOCUMENTS }],
});
const WRITTEN = ['ETag', 'Preference-Applied', 'Idempotency-Replayed'] as const;
const NONE: ApiResponse = { description: 'Done; no body, as requested.', headers: WRITTEN };
const AFFECTED: ApiResponse = {
  description: 'Number of matching documents, and of changed ones.',
  schema: namedSchema(
    'AffectedCounts',
    Type.Object({ matched: Type.Integer({ minimum: 0 }), modified: Type.Integer({ minimum: 0 }) }),
  ),
  headers: ['Preference-Applied', 'Idempotency-Replayed'],
};

const found = ({ document }: DescribedCollection): ApiResponse => ({
  description: 'The document.',
  schema: document,
  headers: WRITTEN,
});
const created = ({ document }: DescribedCollection): ApiResponse => ({
  description: 'Created.',
  schema: document,
  headers: [...WRITTEN, 'Location'],
});
const listed = ({ document }: DescribedCollection): ApiResponse => ({
  description: 'The documents, streamed.',
  schema: arraySchema(document),
  headers: [...LIST_HEADERS, 'Millrace-Hint'],
});

export const DOCUMENT_READ_OPERATIONS = {
  list: declareCollectionOperation((subject) => ({
    id: 'listDocuments',
    tag,
    as: true,
    summary: `List ${subject.many}`,
    parameters: [COLLECTION_PARAMETER, ...LIST_QUERY_PARAMETERS],
    responses: { 200: listed(subject) },
    // The last one for lists requested as a stream.
    errors: [...LISTING, 'client-memory-exceeded'],
  })),
  query: declareCollectionOperation((subject) => ({
    id: 'queryDocuments',
    tag,
    as: true,
    summary: `List ${subject.many} by a query in the body`,
    parameters: [COLLECTION_PARAMETER],
    body: jsonBody(QUERY_BODY),
    responses: { 200: listed(subject) },
    errors: LISTING,
  })),
  get: declareCollectionOperation((subject) => ({
    id: 'getDocument',
    tag,
    as: true,
    summary: `Get ${subject.one}`,
    parameters: [...ONE, ...DOCUMENT_PARAMETERS, IF_NONE_MATCH],
    responses: {
      200: { ...found(subject), headers: ['ETag'] },
      304: { description: 'Not changed.', headers: ['ETag'] },
    },
    errors: [...DOCUMENT_NOT_FOUND_ERRORS, ...QUERY_ERRORS, 'response-too-large'],
  })),
};

export const DOCUMENT_WRITE_OPERATIONS = {
  create: declareCollectionOperation((subject) => ({
    id: 'createDocument',
    tag,
    summary: `Create ${subject.one}, or many at once`,
    parameters: [COLLECTION_PARAMETER, PREFER, IDEMPOTENCY_KEY_HEADER],
    body: jsonBody(ONE_OR_MANY),
    // With Prefer: return=minimal the body is empty and has no media type.
    responses: { 201: { ...created(subject), schema: { oneOf: [subject.document, arraySchema(subject.document)] } } },
    errors: [...NAMED, ...WRITING, 'invalid-id', 'id-exists', 'too-many-documents', 'quota-exceeded'],
  })),
  patchMany: declareCollectionOperation((subject) => ({
    id: 'updateManyDocuments',
    tag,
    summary: `Change all of ${subject.many} that match a filter`,
    description: 'All or none, in one transaction.',
    parameters: BULK,
    body: PATCH_BODIES,
    responses: { 200: AFFECTED },
    errors: [...BULK_WRITE_ERRORS, 'invalid-patch', 'patch-test-failed'],
  })),
  removeMany: declareCollectionOperation((subject) => ({
    id: 'deleteManyDocuments',
    tag,
    summary: `Delete all of ${subject.many} that match a filter`,
    description: 'All or none, in one transaction.',
    parameters: BULK,
    responses: { 200: AFFECTED },
    errors: BULK_WRITE_ERRORS,
  })),
  replace: declareCollectionOperation((subject) => ({
    id: 'replaceDocument',
    tag,
    summary: `Replace ${subject.one}`,
    description: 'Creates with `If-None-Match: *` or `upsert=true`.',
    parameters: [...ONE, UPSERT, IF_NONE_MATCH, ...WRITE],
    body: jsonBody(DOCUMENT_BODY_SCHEMA),
    responses: { 200: found(subject), 201: created(subject), 204: NONE },
    errors: [
      ...DOCUMENT_NOT_FOUND_ERRORS,
      ...WRITING,
      'invalid-parameter',
      'invalid-id',
      'precondition-failed',
      'quota-exceeded',
    ],
  })),
  patch: declareCollectionOperation((subject) => ({
    id: 'updateDocument',
    tag,
    summary: `Change ${subject.one}`,
    description: 'By merge patch (RFC 7396), JSON Patch (RFC 6902) or update operators.',
    parameters: [...ONE, ...WRITE],
    body: PATCH_BODIES,
    responses: { 200: found(subject), 204: NONE },
    errors: [...DOCUMENT_NOT_FOUND_ERRORS, ...WRITING, 'invalid-patch', 'patch-test-failed', 'precondition-failed'],
  })),
  remove: declareCollectionOperation((subject) => ({
    id: 'deleteDocument',
    tag,
    summary: `Delete ${subject.one}`,
    parameters: [...ONE, ...WRITE],
    responses: { 200: { ...found(subject), description: 'The deleted document.' }, 204: NONE },
    errors: [
      ...DOCUMENT_NOT_FOUND_ERRORS,
      ...KEYED,
      ...SEEN,
      'unknown-parameter',
      'write-conflict',
      'precondition-failed',
      'storage-full',
    ],
  })),
};
