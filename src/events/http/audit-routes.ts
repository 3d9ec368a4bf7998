/** The audit log over HTTP, for administrators. */
import type { FastifyInstance } from 'fastify';
import { LIST_ERRORS, LIST_PARAMETERS, listResponse, parseListQuery } from '../../openapi/list-query.ts';
import { declareOperation } from '../../openapi/operation.ts';
import { queryParameter } from '../../openapi/parameters.ts';
import type { Policies } from '../../policies/policies.ts';
import type { AuditLog } from '../audit/audit.ts';
import { EVENT_SCHEMA } from './event-openapi.ts';

const OPERATION = declareOperation({
  id: 'listAuditEvents',
  tag: 'admin',
  summary: 'List changes of users, keys and policies, newest first',
  parameters: [
    ...LIST_PARAMETERS,
    queryParameter('eventType', 'Only these types of events; `*` stands for anything.', undefined, 'auditEventType'),
  ],
  responses: listResponse(EVENT_SCHEMA),
  errors: LIST_ERRORS,
});

export interface AuditRoutesOptions {
  readonly policies: Policies;
  readonly audit: AuditLog;
}

export async function auditRoutes(app: FastifyInstance, { policies, audit }: AuditRoutesOptions): Promise<void> {
  app.get('/admin/audit', { config: OPERATION }, async (request, reply) => {
    const scope = policies.scope(request.principal, 'read', '_admin:accounts');
    const { limit, cursor, parameterValue } = parseListQuery(request, 'eventType');
    const found = await audit.list(scope, cursor, parameterValue('eventType'), limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?.id ?? '');
    return page;
  });
}
