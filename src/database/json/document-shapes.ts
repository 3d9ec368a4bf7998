/** The schemas of documents in the OpenAPI document: any JSON object, with the fields that the server sets. */
import Type from 'typebox';
import { REFUSED_NAMES } from '../../lib/server-fields.ts';
import { nullable, shape, TIME } from '../../openapi/schema.ts';
import { NEW_ID } from './ids.ts';

/** Field names that a document in a request cannot have at its top level. */
const names = { propertyNames: { type: 'string', pattern: `^(?!(?:${['_id', ...REFUSED_NAMES].join('|')})$)` } };

const META = shape(
  'DocumentMeta',
  Type.Object(
    {
      revision: Type.Integer({ minimum: 0, description: '1 when created, incremented by each change.' }),
      createdAt: nullable(TIME),
      updatedAt: nullable(TIME),
      createdBy: nullable(Type.String()),
      updatedBy: nullable(Type.String()),
    },
    { description: 'Set by the server; ignored in bodies.' },
  ),
);

/** What documents of any collection have in answers. */
export const DOCUMENT_FIELDS = {
  type: 'object',
  description: 'Any JSON object, with its id. `fields` can omit fields; `expand` adds `_expanded`.',
  properties: { id: { type: 'string' }, _meta: META, _expanded: { type: 'object' } },
  additionalProperties: true,
} as const;

/** A document in an answer. */
export const DOCUMENT_SHAPE = shape('StoredDocument', DOCUMENT_FIELDS);

/** The body that creates a document. */
export const NEW_DOCUMENT = shape('DocumentInput', {
  type: 'object',
  description: 'Any JSON object. Without an `id` the server generates one.',
  properties: { id: { type: 'string', pattern: NEW_ID.source } },
  additionalProperties: true,
  ...names,
});

/** The body that replaces a document, or is merged into one. */
export const DOCUMENT_BODY = shape('DocumentContent', {
  type: 'object',
  description: 'Any JSON object; `id`, `_meta` and `_expanded` are ignored.',
  additionalProperties: true,
  ...names,
});
