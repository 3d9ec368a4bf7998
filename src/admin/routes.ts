/**
 * What an operator asks of a running server: how its parts are doing. Not public: load balancers ask `/readyz`.
 */
import type { FastifyInstance } from 'fastify';
import { ASKED_ERRORS, answer, operation } from '../contract/operation.ts';
import type { Policies } from '../policies/policies.ts';
import type { Scope } from '../policies/scope.ts';
import { enterAt } from './enter-at.ts';

const OPERATION = operation({
  id: 'state',
  tag: 'Running it',
  summary: 'The state of the parts of the server',
  answers: answer('The state.', { type: 'object' }),
  errors: ASKED_ERRORS,
});

export interface AdminRoutesOptions {
  readonly policies: Policies;
  readonly events: {
    /** How the event log is doing. */
    readonly state: (scope: Scope<'read', 'admin'>) => Promise<object>;
  };
}

export async function adminRoutes(app: FastifyInstance, { policies, events }: AdminRoutesOptions): Promise<void> {
  const enter = enterAt(policies, 'admin');

  app.get('/admin/state', { config: OPERATION }, async (request) => ({
    events: await events.state(enter(request, 'read')),
  }));
}
