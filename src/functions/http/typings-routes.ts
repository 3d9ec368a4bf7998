/**
 * Typings for function authors over HTTP: the text of `plugins/millrace.d.ts`, with the collections that the caller may
 * read.
 */
import type { FastifyInstance } from 'fastify';
import type { CollectionList } from '../../collections/schema/collection-list.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import { declareOperation, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import type { Policies } from '../../policies/policies.ts';
import { generateTypings } from '../plugins/typings/typings.ts';

const OPERATION = declareOperation({
  id: 'getPluginTypes',
  tag: 'functions',
  summary: 'Get the typings for functions',
  description:
    'TypeScript declarations for editors: every kind of function, `ctx`, and the collections with types inferred from their ' +
    'newest documents. `millrace functions types` writes them to `plugins/millrace.d.ts`.',
  responses: { 200: { description: 'The declarations.', content: { 'text/plain': { type: 'string' } } } },
  errors: QUERY_PARAMETER_ERRORS,
});

export interface TypingsRoutesOptions {
  readonly policies: Policies;
  readonly seen: Pick<CollectionList, 'of'>;
}

export async function typingsRoutes(app: FastifyInstance, options: TypingsRoutesOptions): Promise<void> {
  const { policies, seen } = options;
  app.get('/admin/plugin-types', { config: OPERATION }, async (request, reply) => {
    parseQueryParameters(request, []);
    const { principal } = policies.scope(request.principal, 'read', '_admin');
    reply.type('text/plain; charset=utf-8');
    return generateTypings(await seen.of(principal));
  });
}
