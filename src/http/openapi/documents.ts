/**
 * Every request of documents that the program answers, as operations of the contract: for any collection, and once more
 * for each that exists. Not here: files, events and the running of it all (places.ts).
 */
import type { ErrorCode } from '../../kernel/errors.ts';
import { type Answer, BODY, type Operation, toOperation } from './operation.ts';
import {
  BY_FILTER,
  COLLECTION,
  DOCUMENT_ID,
  IDEMPOTENCY_KEY,
  IF_NONE_MATCH,
  jsonBody,
  LIST,
  PREFER,
  SHOWING,
  UPSERT,
  WRITE,
} from './parameters.ts';
import { ref } from './shapes.ts';

export type Paths = Record<string, Record<string, Operation>>;

const NAMED: readonly ErrorCode[] = ['invalid-name', 'not-acceptable'];
const MISSING: readonly ErrorCode[] = [...NAMED, 'resource-not-available', 'document-not-found'];
export const ASKING: readonly ErrorCode[] = [
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
const KEYED: readonly ErrorCode[] = ['key-in-use', 'key-reused', 'answer-too-large'];
const WRITING: readonly ErrorCode[] = [
  ...BODY,
  ...KEYED,
  'unknown-parameter',
  'unique-violation',
  'contention',
  'field-hidden',
  'field-not-writable',
];
export const PAGE_HEADERS = ['Millrace-Position', 'Link', 'Millrace-Next', 'Millrace-Count', 'Millrace-Count-Kind'];
const BY_FILTER_ERRORS: readonly ErrorCode[] = [
  ...NAMED,
  ...ASKING,
  ...WRITING,
  'resource-not-available',
  'max-affected-required',
  'too-many-affected',
];
const WRITTEN = ['ETag', 'Preference-Applied', 'Idempotency-Replayed'];

/** The collection that operations speak of: one that exists, or any. */
export interface Subject {
  /** Undefined for any. */
  readonly name?: string;
  /** Name of the schema of its documents. */
  readonly shape: string;
}

/** The paths of one collection, or those of any. */
export function collectionPaths({ name, shape }: Subject): Paths {
  const base = `/api/${name ?? '{collection}'}`;
  const tag = name ?? 'Documents';
  const what = name ?? 'documents';
  const single = name === undefined ? 'a document' : `one of ${name}`;
  const id = (verb: string) => (name === undefined ? verb : `${name}.${verb}`);
  const on = name === undefined ? [COLLECTION] : [];
  const one = [...on, DOCUMENT_ID];
  const document: Answer = { description: 'The document.', schema: ref(shape), headers: WRITTEN };
  const none = { description: 'Done, and no body was wanted.', headers: WRITTEN };
  const created = { ...document, description: 'Created.', headers: [...WRITTEN, 'Location'] };
  const list = { type: 'array', items: ref(shape) };
  const affected = {
    description: 'How many were found, and how many changed.',
    schema: ref('Affected'),
    headers: ['Preference-Applied', 'Idempotency-Replayed'],
  };
  const patches = jsonBody('DocumentBody', {
    'application/merge-patch+json': { schema: ref('DocumentBody') },
    'application/json-patch+json': { schema: ref('JsonPatch') },
    'application/vnd.millrace.update+json': { schema: ref('Update') },
  });
  const listed = { description: 'The documents, streamed.', schema: list, headers: PAGE_HEADERS };

  const paths: Paths = {
    [base]: {
      get: toOperation({
        operationId: id('list'),
        tag,
        summary: `List ${what}`,
        parameters: [...on, ...LIST],
        answers: { 200: listed },
        errors: [...NAMED, ...ASKING, 'resource-not-available', 'answer-too-large'],
      }),
      post: toOperation({
        operationId: id('create'),
        tag,
        summary: `Create ${single}, or many at once`,
        parameters: [...on, PREFER, IDEMPOTENCY_KEY],
        requestBody: jsonBody({
          oneOf: [ref('NewDocument'), { type: 'array', items: ref('NewDocument'), minItems: 1, maxItems: 1_000 }],
        }),
        answers: {
          // With Prefer: return=minimal the body is empty and has no media type.
          201: { ...created, schema: { oneOf: [ref(shape), { type: 'array', items: ref(shape) }] } },
        },
        errors: [...NAMED, ...WRITING, 'invalid-id', 'id-exists', 'too-many-documents'],
      }),
      patch: toOperation({
        operationId: id('patchMany'),
        tag,
        summary: `Change all of ${what} that a filter finds`,
        description: 'All or none, in one transaction.',
        parameters: [...on, ...BY_FILTER, IDEMPOTENCY_KEY],
        requestBody: patches,
        answers: { 200: affected },
        errors: [...BY_FILTER_ERRORS, 'invalid-patch', 'patch-test-failed'],
      }),
      delete: toOperation({
        operationId: id('removeMany'),
        tag,
        summary: `Delete all of ${what} that a filter finds`,
        description: 'All or none, in one transaction.',
        parameters: [...on, ...BY_FILTER, IDEMPOTENCY_KEY],
        answers: { 200: affected },
        errors: BY_FILTER_ERRORS,
      }),
    },
    [`${base}/{id}`]: {
      get: toOperation({
        operationId: id('get'),
        tag,
        summary: `Get ${single}`,
        parameters: [...one, ...SHOWING, IF_NONE_MATCH],
        answers: { 200: { ...document, headers: ['ETag'] }, 304: { description: 'Not changed.', headers: ['ETag'] } },
        errors: [...MISSING, ...ASKING, 'answer-too-large'],
      }),
      put: toOperation({
        operationId: id('replace'),
        tag,
        summary: `Replace ${single}`,
        description: 'Creates with `If-None-Match: *` or `upsert=true`.',
        parameters: [...one, UPSERT, IF_NONE_MATCH, ...WRITE],
        requestBody: jsonBody('DocumentBody'),
        answers: { 200: document, 201: created, 204: none },
        errors: [...MISSING, ...WRITING, 'invalid-parameter', 'invalid-id', 'precondition-failed'],
      }),
      patch: toOperation({
        operationId: id('patch'),
        tag,
        summary: `Change ${single}`,
        description: 'By merge patch (RFC 7396), JSON Patch (RFC 6902) or update operators.',
        parameters: [...one, ...WRITE],
        requestBody: patches,
        answers: { 200: document, 204: none },
        errors: [...MISSING, ...WRITING, 'invalid-patch', 'patch-test-failed', 'precondition-failed'],
      }),
      delete: toOperation({
        operationId: id('remove'),
        tag,
        summary: `Delete ${single}`,
        parameters: [...one, ...WRITE],
        answers: { 200: { ...document, description: 'The document that was.' }, 204: none },
        errors: [...MISSING, ...KEYED, ...BODY, 'unknown-parameter', 'contention', 'precondition-failed'],
      }),
    },
    [`${base}/_query`]: {
      post: toOperation({
        operationId: id('query'),
        tag,
        summary: `List ${what} by a query in the body`,
        parameters: on,
        requestBody: jsonBody('Query'),
        answers: { 200: listed },
        errors: [...NAMED, ...ASKING, ...BODY, 'resource-not-available', 'answer-too-large'],
      }),
    },
  };
  return paths;
}

/** Several writes in one transaction. */
export function batchPaths(): Paths {
  return {
    '/batch': {
      post: toOperation({
        operationId: 'batch',
        tag: 'Documents',
        summary: 'Write many documents, all or none',
        parameters: [IDEMPOTENCY_KEY],
        requestBody: jsonBody('Batch'),
        answers: {
          200: { description: 'The results in order.', schema: ref('BatchResult'), headers: ['Idempotency-Replayed'] },
        },
        errors: [
          ...MISSING,
          ...BY_FILTER_ERRORS,
          'too-many-operations',
          'too-many-documents',
          'invalid-id',
          'id-exists',
          'invalid-patch',
          'patch-test-failed',
          'precondition-failed',
          'method-not-allowed',
        ],
      }),
    },
  };
}
