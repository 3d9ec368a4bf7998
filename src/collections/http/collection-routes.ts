/** The collections of the instance and their indexes over HTTP: listing, dropping and renaming, and replacing indexes. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import {
  COLLECTION_PARAMETER,
  isForeignCollectionName,
  parseCollectionName,
} from '../../database/parse-collection-name.ts';
import { type ErrorCode, MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { parseQueryParameters, requireMediaType } from '../../lib/request.ts';
import { declareOperation, jsonBody, jsonResponse, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import type { Policies } from '../../policies/policies.ts';
import { COLLECTION_TYPES, type CollectionAdmin } from '../collection-admin.ts';
import { INDEX_LIST_SCHEMA, INDEX_SCHEMA, parseIndexes } from '../index-plan.ts';
import type { Indexes } from '../indexes.ts';

const tag = 'admin';

/** The body of a rename. */
const RENAME_COLLECTION_BODY = Type.Object(
  { name: Type.String({ description: 'The new name.' }) },
  { additionalProperties: false },
);
const SUMMARY = Type.Object({
  name: Type.String(),
  documents: Type.Integer({ description: 'An estimate of the database. 0 for a time series and a view.' }),
  bytes: Type.Integer(),
  indexes: Type.Integer({ description: 'Without the index of the id.' }),
  kind: Type.Enum([...COLLECTION_TYPES]),
});
const ONE_INDEX = namedSchema('CollectionIndex', INDEX_SCHEMA);
const NAMED: readonly ErrorCode[] = [...QUERY_PARAMETER_ERRORS, 'invalid-collection-name'];

const COLLECTION_OPERATIONS = {
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

export interface CollectionAdminOptions {
  readonly policies: Policies;
  readonly catalogue: CollectionAdmin;
}

interface OnCollection {
  Params: { collection: string };
}

export async function collectionAdminRoutes(
  app: FastifyInstance,
  { policies, catalogue }: CollectionAdminOptions,
): Promise<void> {
  const enter = createAdminScopeGuard(policies, '_admin');

  app.get('/admin/collections', { config: COLLECTION_OPERATIONS.list }, async (request) => {
    const scope = policies.scope(request.principal, 'read', '_admin');
    const reachable = parseQueryParameters(request, ['reachable']).get('reachable') ?? 'true';
    if (reachable === 'true') return catalogue.list(scope);
    if (reachable === 'false') return catalogue.listOthers(scope);
    throw new MillraceError('invalid-parameter', "The parameter 'reachable' must be true or false");
  });

  app.patch<OnCollection>(
    '/admin/collections/:collection',
    { config: COLLECTION_OPERATIONS.rename },
    async (request) => {
      const scope = enter(request, 'update');
      requireMediaType(request, ['application/json']);
      const { name } = validateBody(RENAME_COLLECTION_BODY, request.body);
      const { collection } = request.params;
      const old = isForeignCollectionName(collection) ? collection : parseCollectionName(collection);
      return catalogue.rename(scope, old, parseCollectionName(name));
    },
  );

  app.delete<OnCollection>(
    '/admin/collections/:collection',
    { config: COLLECTION_OPERATIONS.drop },
    async (request, reply) => {
      await catalogue.drop(enter(request, 'delete'), parseCollectionName(request.params.collection));
      return reply.code(204).send();
    },
  );
}

export interface CollectionIndexRoutesOptions {
  readonly policies: Policies;
  readonly indexes: Indexes;
}

interface OnCollection {
  Params: { collection: string };
}

const INDEXES_URL = '/admin/collections/:collection/indexes';

export async function collectionIndexRoutes(
  app: FastifyInstance,
  { policies, indexes }: CollectionIndexRoutesOptions,
): Promise<void> {
  const enter = createAdminScopeGuard(policies, '_admin');

  app.get<OnCollection>(INDEXES_URL, { config: COLLECTION_OPERATIONS.listIndexes }, async (request) => {
    return indexes.list(enter(request, 'read'), parseCollectionName(request.params.collection));
  });

  app.put<OnCollection>(INDEXES_URL, { config: COLLECTION_OPERATIONS.replaceIndexes }, async (request) => {
    const scope = enter(request, 'update');
    requireMediaType(request, ['application/json']);
    const requested = parseIndexes(request.body);
    return indexes.replace(scope, parseCollectionName(request.params.collection), requested);
  });
}
