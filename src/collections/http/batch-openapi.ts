/** The batch in the OpenAPI document. */
import Type from 'typebox';
import { jsonBody, operation } from '../../openapi/operation.ts';
import { shape } from '../../openapi/schema.ts';
import { MAX_BATCH_OPERATIONS, REF } from './batch-operations.ts';
import { BULK_ERRORS, IDEMPOTENCY_KEY, MISSING } from './document-openapi.ts';

const OPERATION = Type.Object(
  {
    method: Type.Unsafe<string>({ enum: ['POST', 'PUT', 'PATCH', 'DELETE'] }),
    path: Type.String({
      description: '/api/{collection} or /api/{collection}/{id}; `$x.id` refers to an earlier document.',
    }),
    body: Type.Optional(Type.Unknown()),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    ref: Type.Optional(Type.String({ pattern: REF.source })),
  },
  { additionalProperties: false },
);

const BATCH = shape(
  'Batch',
  Type.Object(
    { operations: Type.Array(OPERATION, { minItems: 1, maxItems: MAX_BATCH_OPERATIONS }) },
    { additionalProperties: false },
  ),
);

const RESULT = shape(
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

export const BATCH_WRITE = operation({
  id: 'writeBatch',
  tag: 'documents',
  summary: 'Write many documents, all or none',
  parameters: [IDEMPOTENCY_KEY],
  body: jsonBody(BATCH),
  responses: {
    200: { description: 'The results in order.', schema: RESULT, headers: ['Idempotency-Replayed'] },
  },
  errors: [
    ...MISSING,
    ...BULK_ERRORS,
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
