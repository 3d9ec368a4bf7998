/** The indexes of a collection over HTTP: listing and replacing them. */
import type { FastifyInstance } from 'fastify';
import { parseCollectionName } from '../../database/names.ts';
import { requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import { enterAt } from '../../policies/require-scope.ts';
import { parseIndexes } from '../index-plan.ts';
import type { Indexes } from '../indexes.ts';
import { COLLECTIONS } from './collection-openapi.ts';

export interface IndexRoutesOptions {
  readonly policies: Policies;
  readonly indexes: Indexes;
}

interface OnCollection {
  Params: { collection: string };
}

const URL = '/admin/collections/:collection/indexes';

export async function indexRoutes(app: FastifyInstance, { policies, indexes }: IndexRoutesOptions): Promise<void> {
  const enter = enterAt(policies, '_admin');

  app.get<OnCollection>(URL, { config: COLLECTIONS.listIndexes }, async (request) => {
    return indexes.list(enter(request, 'read'), parseCollectionName(request.params.collection));
  });

  app.put<OnCollection>(URL, { config: COLLECTIONS.replaceIndexes }, async (request) => {
    const scope = enter(request, 'update');
    requireMediaType(request, ['application/json']);
    const requested = parseIndexes(request.body);
    return indexes.replace(scope, parseCollectionName(request.params.collection), requested);
  });
}
