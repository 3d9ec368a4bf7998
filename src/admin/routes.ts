/**
 * What an operator asks of a running server: how its parts are doing. Not public: load balancers ask `/readyz`.
 */
import type { FastifyInstance } from 'fastify';
import { operation } from '../contract/operation.ts';
import type { Policies } from '../policies/policies.ts';
import type { Scope } from '../policies/scope.ts';

const OPERATION = operation({
  id: 'state',
  tag: 'Running it',
  summary: 'The state of the parts of the server',
  answers: { 200: { description: 'The state.', schema: { type: 'object' } } },
  errors: [],
});

export interface AdminRoutesOptions {
  readonly policies: Policies;
  readonly events: {
    /** How the event log is doing. */
    readonly state: (scope: Scope<'read', 'admin'>) => Promise<object>;
  };
}

export async function adminRoutes(app: FastifyInstance, { policies, events }: AdminRoutesOptions): Promise<void> {
  app.get('/admin/state', { config: OPERATION }, async (request) => {
    return { events: await events.state(policies.scope(request.principal, 'read', 'admin')) };
  });
}
