/**
 * The collections of the installation over HTTP: which there are, dropping one, renaming one. Not here: their indexes
 * (index-routes.ts) and their documents (collections/).
 */
import type { FastifyInstance } from 'fastify';
import type { Catalogue } from '../collections/catalogue.ts';
import { parseCollectionName } from '../database/names.ts';
import { checked } from '../kernel/parse-body.ts';
import { parameters, requireMediaType } from '../kernel/request.ts';
import type { Policies } from '../policies/policies.ts';
import { COLLECTIONS, RENAME } from './collection-operations.ts';

export interface CollectionAdminOptions {
  readonly policies: Policies;
  readonly catalogue: Catalogue;
}

interface OnCollection {
  Params: { collection: string };
}

export async function collectionAdminRoutes(
  app: FastifyInstance,
  { policies, catalogue }: CollectionAdminOptions,
): Promise<void> {
  app.get('/admin/collections', { config: COLLECTIONS.list }, async (request) => {
    parameters(request, []);
    return catalogue.list(policies.scope(request.principal, 'read', 'admin'));
  });

  app.patch<OnCollection>('/admin/collections/:collection', { config: COLLECTIONS.rename }, async (request) => {
    parameters(request, []);
    requireMediaType(request, ['application/json']);
    const { name } = checked(RENAME, request.body);
    const scope = policies.scope(request.principal, 'update', 'admin');
    return catalogue.rename(scope, parseCollectionName(request.params.collection), parseCollectionName(name));
  });

  app.delete<OnCollection>('/admin/collections/:collection', { config: COLLECTIONS.drop }, async (request, reply) => {
    parameters(request, []);
    const name = parseCollectionName(request.params.collection);
    await catalogue.drop(policies.scope(request.principal, 'delete', 'admin'), name);
    return reply.code(204).send();
  });
}
