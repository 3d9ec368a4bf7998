/**
 * The collections of the installation over HTTP: which there are, what one looks like, dropping one,
 * renaming one. Not here: their indexes
 * (index-routes.ts) and their documents (collections/).
 */
import type { FastifyInstance } from 'fastify';
import type { Catalogue } from '../collections/catalogue.ts';
import type { Shapes } from '../collections/sample/shapes.ts';
import { isOtherName, parseCollectionName } from '../database/names.ts';
import { MillraceError } from '../kernel/errors.ts';
import { checked } from '../kernel/parse-body.ts';
import { parameters, requireMediaType } from '../kernel/request.ts';
import { enterAt } from '../policies/http/enter-at.ts';
import type { Policies } from '../policies/policies.ts';
import { COLLECTIONS, RENAME } from './collection-operations.ts';

export interface CollectionAdminOptions {
  readonly policies: Policies;
  readonly catalogue: Catalogue;
  readonly shapes: Shapes;
}

interface OnCollection {
  Params: { collection: string };
}

export async function collectionAdminRoutes(
  app: FastifyInstance,
  { policies, catalogue, shapes }: CollectionAdminOptions,
): Promise<void> {
  const enter = enterAt(policies, 'admin');

  app.get('/admin/collections', { config: COLLECTIONS.list }, async (request) => {
    const scope = policies.scope(request.principal, 'read', 'admin');
    const reachable = parameters(request, ['reachable']).get('reachable') ?? 'true';
    if (reachable === 'true') return catalogue.list(scope);
    if (reachable === 'false') return catalogue.listOthers(scope);
    throw new MillraceError('invalid-parameter', "The parameter 'reachable' is true or false");
  });

  // It shows members of documents, so it takes the right to read these as well.
  app.get<OnCollection>('/admin/collections/:collection/shape', { config: COLLECTIONS.shape }, async (request) => {
    enter(request, 'read');
    const name = parseCollectionName(request.params.collection);
    return shapes.of(policies.scope(request.principal, 'read', name), name);
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
