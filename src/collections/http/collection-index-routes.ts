/** The indexes of a collection over HTTP: listing and replacing them. */
import type { FastifyInstance } from 'fastify';
import { parseCollectionName } from '../../database/collection-names.ts';
import { requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import { createAdminScopeGuard } from '../../policies/require-scope.ts';
import { parseIndexes } from '../index-plan.ts';
import type { Indexes } from '../indexes.ts';
import { COLLECTION_OPERATIONS } from './collection-openapi.ts';

export interface CollectionIndexRoutesOptions {
  readonly policies: Policies;
  readonly indexes: Indexes;
}

interface OnCollection {
  Params: { collection: string };
}

const URL = '/admin/collections/:collection/indexes';

export async function collectionIndexRoutes(
  app: FastifyInstance,
  { policies, indexes }: CollectionIndexRoutesOptions,
): Promise<void> {
  const enter = createAdminScopeGuard(policies, '_admin');

  app.get<OnCollection>(URL, { config: COLLECTION_OPERATIONS.listIndexes }, async (request) => {
    return indexes.list(enter(request, 'read'), parseCollectionName(request.params.collection));
  });

  app.put<OnCollection>(URL, { config: COLLECTION_OPERATIONS.replaceIndexes }, async (request) => {
    const scope = enter(request, 'update');
    requireMediaType(request, ['application/json']);
    const requested = parseIndexes(request.body);
    return indexes.replace(scope, parseCollectionName(request.params.collection), requested);
  });
}
