/** The audit over HTTP, for those who run the installation. Not here: what stands in it (audit.ts). */
import type { FastifyInstance } from 'fastify';
import { operation } from '../contract/operation.ts';
import { queryParameter } from '../contract/parameters.ts';
import { EVENT } from '../events/event-operations.ts';
import type { Policies } from '../policies/policies.ts';
import type { Audit } from './audit.ts';
import { adminPage, LIST_ERRORS, LIST_PARAMETERS, parseListQuery } from './list-query.ts';

const OPERATION = operation({
  id: 'audit.list',
  tag: 'Running it',
  summary: 'List what happened to accounts, keys and policies, newest first',
  parameters: [...LIST_PARAMETERS, queryParameter('type', 'Only these types of events; `*` stands for anything.')],
  answers: adminPage(EVENT),
  errors: LIST_ERRORS,
});

export interface AuditRoutesOptions {
  readonly policies: Policies;
  readonly audit: Audit;
}

export async function auditRoutes(app: FastifyInstance, { policies, audit }: AuditRoutesOptions): Promise<void> {
  app.get('/admin/audit', { config: OPERATION }, async (request, reply) => {
    const scope = policies.scope(request.principal, 'read', 'admin:accounts');
    const { limit, after, chosen } = parseListQuery(request, 'type');
    const found = await audit.list(scope, after, chosen('type'), limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?.id ?? '');
    return page;
  });
}
