/** The batch in the OpenAPI document. */
import Type from 'typebox';
import { declareOperation, jsonBody } from '../../openapi/operation.ts';
import { namedSchema } from '../../openapi/schema.ts';
import { BATCH_REF_PATTERN, MAX_BATCH_OPERATIONS } from './batch-operations.ts';
import { BULK_WRITE_ERRORS, DOCUMENT_NOT_FOUND_ERRORS, IDEMPOTENCY_KEY_HEADER } from './document-openapi.ts';

const OPERATION = Type.Object(
  {
    method: Type.Unsafe<string>({ enum: ['POST', 'PUT', 'PATCH', 'DELETE'] }),
    path: Type.String({
      description: '/api/{collection} or /api/{collection}/{id}; `$x.id` refers to an earlier document.',
    }),
    body: Type.Optional(Type.Unknown()),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    ref: Type.Optional(Type.String({ pattern: BATCH_REF_PATTERN.source })),
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
