/**
 * The operations on documents as the contract describes them: for any collection, and once more for each that exists.
 * Not here: the batch (batch-contract.ts) and what the requests do (read-routes.ts, write-routes.ts).
 */
import Type from 'typebox';
import { type Answer, collectionOperation, jsonBody, type Subject } from '../../contract/operation.ts';
import { headerParameter, IF_MATCH, IF_NONE_MATCH, pathParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf, shape } from '../../contract/schema.ts';
import { DOCUMENT_BODY, NEW_DOCUMENT } from '../../database/json/document-shapes.ts';
import { COLLECTION } from '../../database/names.ts';
import type { ErrorCode } from '../../kernel/errors.ts';
import { FILTERS, LIST, LIST_HEADERS, QUERY_BODY, QUERY_ERRORS, SHOWING } from '../../query/parse/query-contract.ts';
import { MAX_DOCUMENTS } from '../collections.ts';
import { PATCH_BODIES } from '../patch/patch-bodies.ts';
import { VISIBLE } from './idempotency.ts';

const tag = 'Documents';

const ID = pathParameter('id', "The document's id.", { type: 'string', minLength: 1, maxLength: 128 });
const ONE = [COLLECTION, ID];
const PREFER = headerParameter('Prefer', 'return=minimal or return=representation (RFC 7240).');
export const IDEMPOTENCY_KEY = headerParameter(
  'Idempotency-Key',
  'With the same key the write happens once, however often it is sent.',
  {
    type: 'string',
    pattern: VISIBLE.source,
  },
);
const WRITE = [IF_MATCH, PREFER, IDEMPOTENCY_KEY];
const UPSERT = queryParameter('upsert', 'Creates the document when there is none.', { type: 'boolean' });
/** Which documents a write by filter is for, and how many of them at most. */
const MAX_AFFECTED = {
  ...headerParameter('Prefer', 'The most documents that may be touched, such as max-affected=100.', {
    type: 'string',
    pattern: '^max-affected=[0-9]{1,9}$',
  }),
  required: true,
} as const;
const BULK = [COLLECTION, ...FILTERS, MAX_AFFECTED, IDEMPOTENCY_KEY];

const NAMED: readonly ErrorCode[] = ['invalid-name'];
export const MISSING: readonly ErrorCode[] = [...NAMED, 'resource-not-available', 'document-not-found'];
const KEYED: readonly ErrorCode[] = ['key-in-use', 'key-reused', 'answer-too-large'];
/** Of functions that see a write before it is made. */
const SEEN: readonly ErrorCode[] = [
  'refused-by-function',
  'function-unavailable',
  'function-failed',
  'functions-off',
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
  'contention',
  'field-hidden',
  'field-not-writable',
  'storage-full',
];
const LISTING: readonly ErrorCode[] = [...NAMED, ...QUERY_ERRORS, 'resource-not-available', 'answer-too-large'];
export const BULK_ERRORS: readonly ErrorCode[] = [
  ...NAMED,
  ...QUERY_ERRORS,
  ...WRITING,
  'resource-not-available',
  'max-affected-required',
  'too-many-affected',
];

const WRITTEN = ['ETag', 'Preference-Applied', 'Idempotency-Replayed'] as const;
const NONE: Answer = { description: 'Done, without a body as requested.', headers: WRITTEN };
const AFFECTED: Answer = {
  description: 'How many were found, and how many changed.',
  schema: shape(
    'Affected',
    Type.Object({ matched: Type.Integer({ minimum: 0 }), modified: Type.Integer({ minimum: 0 }) }),
  ),
  headers: ['Preference-Applied', 'Idempotency-Replayed'],
};

const found = ({ document }: Subject): Answer => ({
  description: 'The document.',
  schema: document,
  headers: WRITTEN,
});
const created = ({ document }: Subject): Answer => ({
  description: 'Created.',
  schema: document,
  headers: [...WRITTEN, 'Location'],
});
const listed = ({ document }: Subject): Answer => ({
  description: 'The documents, streamed.',
  schema: listOf(document),
  headers: [...LIST_HEADERS, 'Millrace-Hint'],
});

export const READING = {
  list: collectionOperation((subject) => ({
    id: 'list',
    tag,
    as: true,
    summary: `List ${subject.many}`,
    parameters: [COLLECTION, ...LIST],
    answers: { 200: listed(subject) },
    // The last one for lists that are asked for as a stream.
    errors: [...LISTING, 'too-much-held'],
  })),
  query: collectionOperation((subject) => ({
    id: 'query',
    tag,
    as: true,
    summary: `List ${subject.many} by a query in the body`,
    parameters: [COLLECTION],
    body: jsonBody(QUERY_BODY),
    answers: { 200: listed(subject) },
    errors: LISTING,
  })),
  get: collectionOperation((subject) => ({
    id: 'get',
    tag,
    as: true,
    summary: `Get ${subject.one}`,
    parameters: [...ONE, ...SHOWING, IF_NONE_MATCH],
    answers: { 200: { ...found(subject), headers: ['ETag'] }, 304: { description: 'Not changed.', headers: ['ETag'] } },
    errors: [...MISSING, ...QUERY_ERRORS, 'answer-too-large'],
  })),
};

export const WRITES = {
  create: collectionOperation((subject) => ({
    id: 'create',
    tag,
    summary: `Create ${subject.one}, or many at once`,
    parameters: [COLLECTION, PREFER, IDEMPOTENCY_KEY],
    body: jsonBody({ oneOf: [NEW_DOCUMENT, { ...listOf(NEW_DOCUMENT), minItems: 1, maxItems: MAX_DOCUMENTS }] }),
    // With Prefer: return=minimal the body is empty and has no media type.
    answers: { 201: { ...created(subject), schema: { oneOf: [subject.document, listOf(subject.document)] } } },
    errors: [...NAMED, ...WRITING, 'invalid-id', 'id-exists', 'too-many-documents', 'quota-exceeded'],
  })),
  patchMany: collectionOperation((subject) => ({
    id: 'patchMany',
    tag,
    summary: `Change all of ${subject.many} that a filter finds`,
    description: 'All or none, in one transaction.',
    parameters: BULK,
    body: PATCH_BODIES,
    answers: { 200: AFFECTED },
    errors: [...BULK_ERRORS, 'invalid-patch', 'patch-test-failed'],
  })),
  removeMany: collectionOperation((subject) => ({
    id: 'removeMany',
    tag,
    summary: `Delete all of ${subject.many} that a filter finds`,
    description: 'All or none, in one transaction.',
    parameters: BULK,
    answers: { 200: AFFECTED },
    errors: BULK_ERRORS,
  })),
  replace: collectionOperation((subject) => ({
    id: 'replace',
    tag,
    summary: `Replace ${subject.one}`,
    description: 'Creates with `If-None-Match: *` or `upsert=true`.',
    parameters: [...ONE, UPSERT, IF_NONE_MATCH, ...WRITE],
    body: jsonBody(DOCUMENT_BODY),
    answers: { 200: found(subject), 201: created(subject), 204: NONE },
    errors: [...MISSING, ...WRITING, 'invalid-parameter', 'invalid-id', 'precondition-failed', 'quota-exceeded'],
  })),
  patch: collectionOperation((subject) => ({
    id: 'patch',
    tag,
    summary: `Change ${subject.one}`,
    description: 'By merge patch (RFC 7396), JSON Patch (RFC 6902) or update operators.',
    parameters: [...ONE, ...WRITE],
    body: PATCH_BODIES,
    answers: { 200: found(subject), 204: NONE },
    errors: [...MISSING, ...WRITING, 'invalid-patch', 'patch-test-failed', 'precondition-failed'],
  })),
  remove: collectionOperation((subject) => ({
    id: 'remove',
    tag,
    summary: `Delete ${subject.one}`,
    parameters: [...ONE, ...WRITE],
    answers: { 200: { ...found(subject), description: 'The document before it was deleted.' }, 204: NONE },
    errors: [...MISSING, ...KEYED, ...SEEN, 'unknown-parameter', 'contention', 'precondition-failed', 'storage-full'],
  })),
};
