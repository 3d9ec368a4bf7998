/** The Scope of a request to the admin API that takes no parameters. */
import type { FastifyRequest } from 'fastify';
import type { ResourceAction } from '../auth/identity/principal.ts';
import { parseQueryParameters } from '../lib/request.ts';
import type { Policies } from './policies.ts';
import type { Scope, ScopeAction } from './scope.ts';

/**
 * @returns a function that rejects a request with parameters or without the right to this action, with MillraceError
 * `unknown-parameter`, `not-authenticated`, `forbidden` or `policies-unavailable`
 */
export function createAdminScopeGuard<P extends '_admin' | '_admin:accounts'>(policies: Policies, resource: P) {
  return <A extends ResourceAction>(request: FastifyRequest, action: A): Scope<ScopeAction<A>, P> => {
    parseQueryParameters(request, []);
    return policies.scope(request.principal, action, resource);
  };
}
