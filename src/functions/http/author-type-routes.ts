/**
 * The types for authors of functions over HTTP: the text of `plugins/millrace.d.ts`, with the collections that the asker may
 * read. Not here: the text itself (plugins/author-types).
 */
import type { FastifyInstance } from 'fastify';
import type { SeenCollections } from '../../collections/sample/seen-collections.ts';
import { ASKED_ERRORS, operation } from '../../contract/operation.ts';
import { parameters } from '../../kernel/request.ts';
import type { Policies } from '../../policies/policies.ts';
import { authorTypes } from '../plugins/author-types/author-types.ts';

const OPERATION = operation({
  id: 'plugins.types',
  tag: 'Functions',
  summary: 'Get the types that functions are written against',
  description:
    'Declarations of TypeScript for editors: every kind of function, `ctx`, and the collections as their newest documents ' +
    'show them. `millrace functions types` writes them to `plugins/millrace.d.ts`.',
  answers: { 200: { description: 'The declarations.', content: { 'text/plain': { type: 'string' } } } },
  errors: ASKED_ERRORS,
});

export interface AuthorTypeRoutesOptions {
  readonly policies: Policies;
  readonly seen: Pick<SeenCollections, 'of'>;
}

export async function authorTypeRoutes(app: FastifyInstance, options: AuthorTypeRoutesOptions): Promise<void> {
  const { policies, seen } = options;
  app.get('/admin/plugin-types', { config: OPERATION }, async (request, reply) => {
    parameters(request, []);
    const { principal } = policies.scope(request.principal, 'read', 'admin');
    reply.type('text/plain; charset=utf-8');
    return authorTypes(await seen.of(principal));
  });
}
