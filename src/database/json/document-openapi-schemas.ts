/** The schemas of documents in the OpenAPI document: any JSON object, with the fields that the server sets. */
import Type from 'typebox';
import { FORBIDDEN_FIELD_NAMES } from '../../lib/server-fields.ts';
import { DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';
import { NEW_ID_PATTERN } from './ids.ts';

/** Field names that a document in a request cannot have at its top level. */
const names = {
  propertyNames: { type: 'string', pattern: `^(?!(?:${['_id', ...FORBIDDEN_FIELD_NAMES].join('|')})$)` },
};

const META = namedSchema(
  'DocumentMeta',
  Type.Object(
    {
      revision: Type.Integer({ minimum: 0, description: '1 when created, incremented by each change.' }),
      createdAt: nullable(DATE_TIME_SCHEMA),
      updatedAt: nullable(DATE_TIME_SCHEMA),
      createdBy: nullable(Type.String()),
      updatedBy: nullable(Type.String()),
    },
    { description: 'Set by the server; ignored in bodies.' },
  ),
);

/** What documents of any collection have in answers. */
export const DOCUMENT_JSON_SCHEMA = {
  type: 'object',
  description: 'Any JSON object, with its id. `fields` can omit fields; `expand` adds `_expanded`.',
  properties: { id: { type: 'string' }, _meta: META, _expanded: { type: 'object' } },
  additionalProperties: true,
} as const;

/** A document in an answer. */
export const STORED_DOCUMENT_SCHEMA = namedSchema('StoredDocument', DOCUMENT_JSON_SCHEMA);

/** The body that creates a document. */
export const NEW_DOCUMENT_SCHEMA = namedSchema('DocumentInput', {
  type: 'object',
  description: 'Any JSON object. Without an `id` the server generates one.',
  properties: { id: { type: 'string', pattern: NEW_ID_PATTERN.source } },
  additionalProperties: true,
  ...names,
});

/** The body that replaces a document, or is merged into one. */
export const DOCUMENT_BODY_SCHEMA = namedSchema('DocumentContent', {
  type: 'object',
  description: 'Any JSON object; `id`, `_meta` and `_expanded` are ignored.',
  additionalProperties: true,
  ...names,
});
