/** The collections of the instance over HTTP: listing, inspecting, dropping and renaming them. */
import type { FastifyInstance } from 'fastify';
import { isOtherName, parseCollectionName } from '../../database/names.ts';
import { MillraceError } from '../../lib/errors.ts';
import { checked } from '../../lib/parse-body.ts';
import { parameters, requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import { enterAt } from '../../policies/require-scope.ts';
import type { Catalogue } from '../collection-admin.ts';
import { COLLECTIONS, RENAME } from './collection-openapi.ts';

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
  const enter = enterAt(policies, '_admin');

  app.get('/admin/collections', { config: COLLECTIONS.list }, async (request) => {
    const scope = policies.scope(request.principal, 'read', '_admin');
    const reachable = parameters(request, ['reachable']).get('reachable') ?? 'true';
    if (reachable === 'true') return catalogue.list(scope);
    if (reachable === 'false') return catalogue.listOthers(scope);
    throw new MillraceError('invalid-parameter', "The parameter 'reachable' must be true or false");
  });

  app.patch<OnCollection>('/admin/collections/:collection', { config: COLLECTIONS.rename }, async (request) => {
    const scope = enter(request, 'update');
    requireMediaType(request, ['application/json']);
    const { name } = checked(RENAME, request.body);
    const { collection } = request.params;
    const old = isOtherName(collection) ? collection : parseCollectionName(collection);
    return catalogue.rename(scope, old, parseCollectionName(name));
  });

  app.delete<OnCollection>('/admin/collections/:collection', { config: COLLECTIONS.drop }, async (request, reply) => {
    await catalogue.drop(enter(request, 'delete'), parseCollectionName(request.params.collection));
    return reply.code(204).send();
  });
}
