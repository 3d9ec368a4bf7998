/** The Scope of a request to the admin API that takes no parameters. */
import type { FastifyRequest } from 'fastify';
import type { Action } from '../auth/identity/principal.ts';
import { parameters } from '../lib/request.ts';
import type { Policies } from './policies.ts';
import type { ActionOf, Scope } from './scope.ts';

/**
 * @returns a function that rejects a request with parameters or without the right to this action, with MillraceError
 * `unknown-parameter`, `not-authenticated`, `forbidden` or `policies-unavailable`
 */
export function enterAt<P extends '_admin' | '_admin:accounts'>(policies: Policies, resource: P) {
  return <A extends Action>(request: FastifyRequest, action: A): Scope<ActionOf<A>, P> => {
    parameters(request, []);
    return policies.scope(request.principal, action, resource);
  };
}
