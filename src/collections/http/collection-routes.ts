/** The collections of the instance over HTTP: listing, inspecting, dropping and renaming them. */
import type { FastifyInstance } from 'fastify';
import { isForeignCollectionName, parseCollectionName } from '../../database/collection-names.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { parseQueryParameters, requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import { createAdminScopeGuard } from '../../policies/require-scope.ts';
import type { CollectionAdmin } from '../collection-admin.ts';
import { COLLECTION_OPERATIONS, RENAME_COLLECTION_BODY } from './collection-openapi.ts';

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
