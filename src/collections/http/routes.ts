/** The HTTP face of collections, in two files: reading and writing. The contract is docs/api.md. */
import type { FastifyInstance } from 'fastify';
import type { CollectionRoutesOptions } from './access.ts';
import { readRoutes } from './read-routes.ts';
import { type WriteRoutesOptions, writeRoutes } from './write-routes.ts';

export async function collectionRoutes(
  app: FastifyInstance,
  { position, live, ...options }: CollectionRoutesOptions & WriteRoutesOptions,
): Promise<void> {
  await app.register(readRoutes, { prefix: '/api', ...options, position, live });
  await app.register(writeRoutes, options);
}
