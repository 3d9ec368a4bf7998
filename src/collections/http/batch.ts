/**
 * Several writes in one transaction, in order: all or none, including collections that they create. Each follows the
 * rules of a single write.
 */

import Type from 'typebox';
import type { Principal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters, type RequestLike, requireMediaType } from '../../lib/request.ts';
import { declareOperation, jsonBody } from '../../openapi/operation.ts';
import { namedSchema } from '../../openapi/schema.ts';
import { isAccessDenied } from '../document-errors.ts';
import type { TransactionContext } from '../open-transaction.ts';
import type { TransactionRunner } from '../transaction-runner.ts';
import {
  addOperationIndex,
  BATCH_REF_NAME_PATTERN,
  type BatchOperation,
  MAX_BATCH_OPERATIONS,
  parseBatch,
  resolveRefs,
} from './batch-operations.ts';
import { BULK_WRITE_ERRORS, DOCUMENT_NOT_FOUND_ERRORS, IDEMPOTENCY_KEY_HEADER } from './document-openapi.ts';
import { parseObjectBody, rejectPreconditions } from './request-body.ts';
import { type PreparedWrite, prepareWrite, type WriteDeps } from './write-operations.ts';
import type { WriteResponse } from './write-response.ts';

const OPERATION = Type.Object(
  {
    method: Type.Unsafe<string>({ enum: ['POST', 'PUT', 'PATCH', 'DELETE'] }),
    path: Type.String({
      description: '/api/{collection} or /api/{collection}/{id}; `$x.id` refers to an earlier document.',
    }),
    body: Type.Optional(Type.Unknown()),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    ref: Type.Optional(Type.String({ pattern: BATCH_REF_NAME_PATTERN.source })),
  },
  { additionalProperties: false },
);

const BATCH = namedSchema(
  'Batch',
  Type.Object(
    { operations: Type.Array(OPERATION, { minItems: 1, maxItems: MAX_BATCH_OPERATIONS }) },
    { additionalProperties: false },
  ),
);

const RESULT = namedSchema(
  'BatchResult',
  Type.Object({
    results: Type.Array(
      Type.Object({
        status: Type.Integer(),
        headers: Type.Record(Type.String(), Type.String()),
        body: Type.Optional(Type.Unknown()),
      }),
    ),
  }),
);

export const BATCH_WRITE_OPERATION = declareOperation({
  id: 'writeBatch',
  tag: 'documents',
  summary: 'Write many documents, all or none',
  parameters: [IDEMPOTENCY_KEY_HEADER],
  body: jsonBody(BATCH),
  responses: {
    200: { description: 'The results in order.', schema: RESULT, headers: ['Idempotency-Replayed'] },
  },
  errors: [
    ...DOCUMENT_NOT_FOUND_ERRORS,
    ...BULK_WRITE_ERRORS,
    'too-many-operations',
    'too-many-documents',
    'invalid-id',
    'id-exists',
    'invalid-patch',
    'patch-test-failed',
    'precondition-failed',
    'quota-exceeded',
    'method-not-allowed',
  ],
});

/** Bytes of all results together. */
const MAX_RESULT_BYTES = 32 * 1024 * 1024;

interface BatchRequest extends RequestLike {
  readonly principal: Principal;
}

export interface PreparedBatch {
  /** The collections that its operations name. */
  readonly collections: readonly string[];
  readonly write: PreparedWrite;
}

/**
 * Parses a batch.
 * @throws MillraceError as parseBatch, and `not-authenticated` or `forbidden` for any of its operations
 */
export function prepareBatch(
  request: BatchRequest,
  parts: WriteDeps & { readonly atomic: TransactionRunner },
): PreparedBatch {
  parseQueryParameters(request, []);
  rejectPreconditions(request);
  requireMediaType(request, ['application/json']);
  const operations = parseBatch(parseObjectBody(request));
  requireScopes(operations, request, parts);
  return {
    collections: operations.map(({ segments: [name = ''] }) => name),
    write: (within) => parts.atomic.run((open) => runAll(operations, request, parts, open), within),
  };
}

/**
 * Authorizes all operations before the first one runs and before an idempotency key is looked up. Other errors of an
 * operation are reported when it runs.
 */
function requireScopes(operations: readonly BatchOperation[], request: BatchRequest, deps: WriteDeps): void {
  for (const [index, operation] of operations.entries()) {
    try {
      prepare(operation, request, deps);
    } catch (error) {
      if (isAccessDenied(error)) throw addOperationIndex(index, error);
    }
  }
}

async function runAll(
  operations: readonly BatchOperation[],
  request: BatchRequest,
  deps: WriteDeps,
  within: TransactionContext,
): Promise<WriteResponse> {
  const refs = new Map<string, string>();
  const results: WriteResponse[] = [];
  let bytes = 0;
  for (const [index, operation] of operations.entries()) {
    try {
      const response = await prepare(resolveRefs(operation, refs), request, deps)(within);
      if (operation.ref !== undefined) refs.set(operation.ref, idOf(response));
      bytes += response.body?.length ?? 0;
      if (bytes > MAX_RESULT_BYTES) throw tooLarge();
      results.push(response);
    } catch (error) {
      throw addOperationIndex(index, error);
    }
  }
  return { status: 200, headers: {}, body: encodeResults(results) };
}

function prepare(operation: BatchOperation, request: BatchRequest, deps: WriteDeps): PreparedWrite {
  const { method, url, headers, body, segments } = operation;
  const [collection = '', id] = segments;
  const params = id === undefined ? { collection } : { collection, id };
  return prepareWrite({ id: request.id, principal: request.principal, method, url, headers, body, params }, deps);
}

function idOf({ id }: WriteResponse): string {
  if (id !== undefined) return id;
  throw new MillraceError('malformed-request', "Only an operation on one document can have a 'ref'");
}

function tooLarge(): MillraceError {
  return new MillraceError('response-too-large', 'The results of the batch are together too large', {
    hint: 'Give operations the header prefer: return=minimal',
  });
}

/** The bodies are already JSON text. */
function encodeResults(results: readonly WriteResponse[]): Buffer {
  const chunks: Buffer[] = [Buffer.from('{"results":[')];
  for (const [index, { status, headers, body }] of results.entries()) {
    const head = JSON.stringify({ status, headers });
    chunks.push(Buffer.from(`${index === 0 ? '' : ','}${body === null ? head : `${head.slice(0, -1)},"body":`}`));
    if (body !== null) chunks.push(body, Buffer.from('}'));
  }
  chunks.push(Buffer.from(']}'));
  return Buffer.concat(chunks);
}
