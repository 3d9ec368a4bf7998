/**
 * The shapes that the contract names: documents, files, events, problems, and the parameters and headers that requests
 * and answers share. Schemas only. Not here: which request answers with which of them (documents.ts).
 */
import Type, { type TSchema } from 'typebox';
import { API_KEY, SESSION, SIGNED_IN, TICKET, USER } from '../../auth/schema.ts';
import { INDEX } from '../../collections/index-plan.ts';
import { ERRORS } from '../../kernel/errors.ts';
import { LIMITS } from '../../query/limits.ts';
import { COUNTS } from '../../query/parse/query.ts';

const nullable = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const time = () => Type.String({ format: 'date-time' });
const names = (refused: readonly string[]) => ({ propertyNames: { not: { enum: [...refused] } } });

/** Member names that no document may have at its top, on the way in. */
const REFUSED_NAMES = ['_id', '__proto__', '_bsontype'];

export const ref = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` });

export const ID = Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9.~-][A-Za-z0-9._~-]*$' });

const META = Type.Object(
  {
    revision: Type.Integer({ minimum: 0, description: '1 when created, one more with each change.' }),
    createdAt: nullable(time()),
    updatedAt: nullable(time()),
    createdBy: nullable(Type.String()),
    updatedBy: nullable(Type.String()),
  },
  { description: 'Kept by the server; ignored in bodies.' },
);

const OPERATIONS = Type.Array(
  Type.Object(
    {
      method: Type.Unsafe<string>({ enum: ['POST', 'PUT', 'PATCH', 'DELETE'] }),
      path: Type.String({
        description: '/api/{collection} or /api/{collection}/{id}; `$x.id` names an earlier document.',
      }),
      body: Type.Optional(Type.Unknown()),
      headers: Type.Optional(Type.Record(Type.String(), Type.String())),
      ref: Type.Optional(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' })),
    },
    { additionalProperties: false },
  ),
  { minItems: 1, maxItems: 100 },
);

const list = { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] };

export const SHAPES: Readonly<Record<string, object>> = {
  Problem: Type.Object(
    {
      type: Type.String(),
      title: Type.String(),
      status: Type.Integer({ minimum: 400, maximum: 599 }),
      code: Type.Unsafe<string>({ enum: Object.keys(ERRORS) }),
      detail: Type.String(),
      hint: Type.Optional(Type.String()),
      instance: Type.Optional(Type.String()),
      request: Type.Optional(Type.String()),
      failedOperation: Type.Optional(Type.Integer({ minimum: 0 })),
      errors: Type.Optional(
        Type.Array(Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() })),
      ),
    },
    { description: 'A failure (RFC 9457). `code` is stable; `errors` name places as JSON Pointers (RFC 6901).' },
  ),
  Meta: META,
  Document: {
    type: 'object',
    description: 'Any JSON object, with its id. `fields` may leave members out; `expand` adds `_expanded`.',
    properties: { id: { type: 'string' }, _meta: ref('Meta'), _expanded: { type: 'object' } },
    additionalProperties: true,
  },
  NewDocument: {
    type: 'object',
    description: 'Any JSON object. Without an `id` the server makes one.',
    properties: { id: ID },
    ...names(REFUSED_NAMES),
  },
  DocumentBody: {
    type: 'object',
    description: 'Any JSON object; `id`, `_meta` and `_expanded` are ignored.',
    ...names(REFUSED_NAMES),
  },
  JsonPatch: {
    type: 'array',
    description: 'RFC 6902.',
    items: {
      type: 'object',
      required: ['op', 'path'],
      properties: {
        op: { enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
        path: { type: 'string' },
        from: { type: 'string' },
        value: {},
      },
    },
  },
  Update: {
    type: 'object',
    description: 'Update operators, each with an object of paths and values.',
    properties: Object.fromEntries(
      ['$inc', '$mul', '$min', '$max', '$set', '$unset', '$push', '$addToSet', '$pull', '$currentDate'].map((name) => [
        name,
        { type: 'object' },
      ]),
    ),
    additionalProperties: false,
    minProperties: 1,
  },
  Query: {
    type: 'object',
    description: 'The parameters of a list as JSON.',
    properties: {
      filter: { type: 'object' },
      sort: list,
      fields: list,
      limit: { type: 'integer', minimum: 0, maximum: LIMITS.limit },
      cursor: { type: 'string' },
      skip: { type: 'integer', minimum: 0, maximum: LIMITS.skip },
      count: { enum: [...COUNTS] },
      expand: list,
    },
    additionalProperties: false,
  },
  Batch: Type.Object({ operations: OPERATIONS }, { additionalProperties: false }),
  BatchResult: Type.Object({
    results: Type.Array(
      Type.Object({
        status: Type.Integer(),
        headers: Type.Record(Type.String(), Type.String()),
        body: Type.Optional(Type.Unknown()),
      }),
    ),
  }),
  Affected: Type.Object({ matched: Type.Integer({ minimum: 0 }), modified: Type.Integer({ minimum: 0 }) }),
  Index: INDEX,
  User: USER,
  SignedIn: SIGNED_IN,
  Session: SESSION,
  ApiKey: API_KEY,
  Ticket: TICKET,
  File: {
    type: 'object',
    description: 'What is known of a file; `fields` may leave members out.',
    properties: {
      id: { type: 'string' },
      url: { type: 'string' },
      name: { type: 'string' },
      type: { type: 'string' },
      size: { type: 'integer', minimum: 0 },
      sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      createdAt: time(),
      createdBy: nullable(Type.String()),
      custom: {},
    },
  },
  Event: Type.Object(
    {
      id: Type.String({ description: 'Its position in the log.' }),
      type: Type.String(),
      timestamp: time(),
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
};

const text = { type: 'string' };

/** Headers of answers, by the name under which operations list them. */
export const HEADERS: Readonly<Record<string, { readonly description: string; readonly schema: object }>> = {
  'X-Request-Id': { description: 'Names the request, also in the log and in events.', schema: text },
  ETag: { description: 'The entity tag, for If-Match and If-None-Match.', schema: text },
  Location: { description: 'Where the created document is.', schema: text },
  Link: { description: 'The next and the previous page (RFC 8288).', schema: text },
  Allow: { description: 'The methods that are possible.', schema: text },
  'Accept-Patch': { description: 'The media types of a patch (RFC 5789).', schema: text },
  'Content-Range': { description: 'Which bytes these are.', schema: text },
  'Retry-After': { description: 'Seconds to wait.', schema: text },
  'WWW-Authenticate': { description: 'How to sign in.', schema: text },
  'Preference-Applied': { description: 'What of Prefer was honoured (RFC 7240).', schema: text },
  'Idempotency-Replayed': { description: '`true` when the answer is the one kept under the key.', schema: text },
  'Millrace-Position': {
    description: 'A place in the event log: what happens after it is not in the list.',
    schema: text,
  },
  'Millrace-Next': { description: 'The cursor of the next page.', schema: text },
  'Millrace-Count': { description: 'How many there are in all.', schema: { type: 'integer', minimum: 0 } },
  'Millrace-Count-Kind': { description: 'exact or estimated.', schema: text },
};
