/** OpenAPI operations of collections and their indexes. */
import Type from 'typebox';
import { COLLECTION_PARAMETER } from '../../database/collection-names.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { declareOperation, jsonBody, jsonResponse, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import { COLLECTION_KINDS } from '../collection-admin.ts';
import { INDEX_LIST_SCHEMA, INDEX_SCHEMA } from '../index-plan.ts';

const tag = 'admin';

/** The body of a rename. */
export const RENAME_COLLECTION_BODY = Type.Object(
  { name: Type.String({ description: 'The new name.' }) },
  { additionalProperties: false },
);
const SUMMARY = Type.Object({
  name: Type.String(),
  documents: Type.Integer({ description: 'An estimate of the database. 0 for a time series and a view.' }),
  bytes: Type.Integer(),
  indexes: Type.Integer({ description: 'Without the index of the id.' }),
  kind: Type.Enum([...COLLECTION_KINDS]),
});
const ONE_INDEX = namedSchema('CollectionIndex', INDEX_SCHEMA);
const NAMED: readonly ErrorCode[] = [...QUERY_PARAMETER_ERRORS, 'invalid-collection-name'];

export const COLLECTION_OPERATIONS = {
  list: declareOperation({
    id: 'listAllCollections',
    tag,
    summary: 'List the collections',
    parameters: [
      queryParameter('reachable', 'False for collections of other programs whose names no route accepts.', {
        type: 'boolean',
        default: true,
      }),
    ],
    responses: jsonResponse('All of them, by name.', arraySchema(SUMMARY)),
    errors: [...QUERY_PARAMETER_ERRORS, 'unknown-parameter', 'invalid-parameter'],
  }),
  rename: declareOperation({
    id: 'renameCollection',
    tag,
    summary: 'Rename a collection',
    description: 'Also one of another program whose name no other route accepts.',
    parameters: [pathParameter('collection', 'Its name.', { type: 'string', minLength: 1 }, 'anyCollection')],
    body: jsonBody(RENAME_COLLECTION_BODY),
    responses: jsonResponse('The collection.', SUMMARY),
    errors: [...NAMED, 'resource-not-available', 'collection-exists'],
  }),
  drop: declareOperation({
    id: 'deleteCollection',
    tag,
    summary: 'Delete a collection with all its documents',
    parameters: [COLLECTION_PARAMETER],
    responses: { 204: { description: 'It is deleted.' } },
    errors: [...NAMED, 'resource-not-available'],
  }),
  listIndexes: declareOperation({
    id: 'listIndexes',
    tag,
    summary: 'List the indexes of a collection',
    parameters: [COLLECTION_PARAMETER],
    responses: jsonResponse('The indexes, with their sizes and uses.', arraySchema(ONE_INDEX)),
    errors: [...NAMED, 'resource-not-available'],
  }),
  replaceIndexes: declareOperation({
    id: 'replaceIndexes',
    tag,
    summary: 'Set the indexes of a collection',
    description: 'The body is the whole list: missing indexes are built, indexes not in it are dropped.',
    parameters: [COLLECTION_PARAMETER],
    body: jsonBody({ ...INDEX_LIST_SCHEMA, items: ONE_INDEX }),
    responses: jsonResponse('The indexes after the change.', arraySchema(ONE_INDEX)),
    errors: [...NAMED, 'invalid-index', 'unique-violation', 'index-build-failed', 'write-conflict'],
  }),
};
