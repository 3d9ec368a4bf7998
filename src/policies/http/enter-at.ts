/** The Scope of a request to the administration that takes no parameters. Not here: lists that take some (admin/list-query.ts). */
import type { FastifyRequest } from 'fastify';
import type { Action } from '../../auth/identity/principal.ts';
import { parameters } from '../../kernel/request.ts';
import type { Policies } from '../policies.ts';
import type { ActionOf, Scope } from '../scope.ts';

/**
 * @returns a function that refuses a request with parameters or without the right to this action, by MillraceError
 *   `unknown-parameter`, `not-authenticated`, `forbidden` or `policies-unavailable`
 */
export function enterAt<P extends 'admin' | 'admin:accounts'>(policies: Policies, place: P) {
  return <A extends Action>(request: FastifyRequest, action: A): Scope<ActionOf<A>, P> => {
    parameters(request, []);
    return policies.scope(request.principal, action, place);
  };
}
