/**
 * The schemas of documents for the contract: any JSON object, with the members that the server sets in it. Not here:
 * reading and writing documents (parse-json.ts, json.ts), and the members of one collection
 * (collections/sample/member-types.ts).
 */
import Type from 'typebox';
import { nullable, shape, TIME } from '../../contract/schema.ts';
import { REFUSED_NAMES } from '../../kernel/server-members.ts';
import { NEW_ID } from './ids.ts';

/** Member names that a document in a request may not have at its top level. */
const names = { propertyNames: { not: { enum: ['_id', ...REFUSED_NAMES] } } };

const META = shape(
  'Meta',
  Type.Object(
    {
      revision: Type.Integer({ minimum: 0, description: '1 when created, one more with each change.' }),
      createdAt: nullable(TIME),
      updatedAt: nullable(TIME),
      createdBy: nullable(Type.String()),
      updatedBy: nullable(Type.String()),
    },
    { description: 'Kept by the server; ignored in bodies.' },
  ),
);

/** A document in an answer. */
export const DOCUMENT_SHAPE = shape('Document', {
  type: 'object',
  description: 'Any JSON object, with its id. `fields` may leave members out; `expand` adds `_expanded`.',
  properties: { id: { type: 'string' }, _meta: META, _expanded: { type: 'object' } },
  additionalProperties: true,
});

/** The body that creates a document. */
export const NEW_DOCUMENT = shape('NewDocument', {
  type: 'object',
  description: 'Any JSON object. Without an `id` the server makes one.',
  properties: { id: { type: 'string', pattern: NEW_ID.source } },
  ...names,
});

/** The body that replaces a document, or is merged into one. */
export const DOCUMENT_BODY = shape('DocumentBody', {
  type: 'object',
  description: 'Any JSON object; `id`, `_meta` and `_expanded` are ignored.',
  ...names,
});
