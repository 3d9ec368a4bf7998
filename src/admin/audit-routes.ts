/** The audit over HTTP, for those who run the installation. Not here: what stands in it (audit.ts). */
import type { FastifyInstance } from 'fastify';
import type { Policies } from '../policies/policies.ts';
import type { Audit } from './audit.ts';
import { parseListQuery } from './list-query.ts';

export interface AuditRoutesOptions {
  readonly policies: Policies;
  readonly audit: Audit;
}

export async function auditRoutes(app: FastifyInstance, { policies, audit }: AuditRoutesOptions): Promise<void> {
  app.get('/admin/audit', async (request, reply) => {
    policies.scope(request.principal, 'read', 'admin:accounts');
    const { limit, after, chosen } = parseListQuery(request, 'type');
    const found = await audit.list(after, chosen, limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?.id ?? '');
    return page;
  });
}
