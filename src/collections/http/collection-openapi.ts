/** OpenAPI operations of collections and their indexes. */
import Type from 'typebox';
import { COLLECTION } from '../../database/names.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { listOf, shape } from '../../openapi/schema.ts';
import { COLLECTION_KINDS } from '../collection-admin.ts';
import { INDEX, INDEXES } from '../index-plan.ts';

const tag = 'admin';

/** The body of a rename. */
export const RENAME = Type.Object(
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
const ONE_INDEX = shape('CollectionIndex', INDEX);
const NAMED: readonly ErrorCode[] = [...REQUEST_ERRORS, 'invalid-collection-name'];

export const COLLECTIONS = {
  list: operation({
    id: 'listAllCollections',
    tag,
    summary: 'List the collections',
    parameters: [
      queryParameter('reachable', 'False for collections of other programs whose names no route accepts.', {
        type: 'boolean',
        default: true,
      }),
    ],
    responses: response('All of them, by name.', listOf(SUMMARY)),
    errors: [...REQUEST_ERRORS, 'unknown-parameter', 'invalid-parameter'],
  }),
  rename: operation({
    id: 'renameCollection',
    tag,
    summary: 'Rename a collection',
    description: 'Also one of another program whose name no other route accepts.',
    parameters: [pathParameter('collection', 'Its name.', { type: 'string', minLength: 1 }, 'anyCollection')],
    body: jsonBody(RENAME),
    responses: response('The collection.', SUMMARY),
    errors: [...NAMED, 'resource-not-available', 'collection-exists'],
  }),
  drop: operation({
    id: 'deleteCollection',
    tag,
    summary: 'Delete a collection with all its documents',
    parameters: [COLLECTION],
    responses: { 204: { description: 'It is deleted.' } },
    errors: [...NAMED, 'resource-not-available'],
  }),
  listIndexes: operation({
    id: 'listIndexes',
    tag,
    summary: 'List the indexes of a collection',
    parameters: [COLLECTION],
    responses: response('The indexes, with their sizes and uses.', listOf(ONE_INDEX)),
    errors: [...NAMED, 'resource-not-available'],
  }),
  replaceIndexes: operation({
    id: 'replaceIndexes',
    tag,
    summary: 'Set the indexes of a collection',
    description: 'The body is the whole list: missing indexes are built, indexes not in it are dropped.',
    parameters: [COLLECTION],
    body: jsonBody({ ...INDEXES, items: ONE_INDEX }),
    responses: response('The indexes after the change.', listOf(ONE_INDEX)),
    errors: [...NAMED, 'invalid-index', 'unique-violation', 'index-build-failed', 'write-conflict'],
  }),
};
