/**
 * What policies can read of a principal: the values of its variables, in policies and in its own filters, and the key
 * under which results for it may be shared. Pure.
 */
import type { Principal } from '../auth/identity/principal.ts';
import type { VariableBindings } from '../query/evaluate/bind-variables.ts';

/** @param now the time of `$now` */
export function principalBindings(principal: Principal, now: Date): VariableBindings {
  if (principal.kind === 'anonymous') return { now, user: null };
  const claims = principal.kind === 'user' ? principal.claims : {};
  return { now, user: { id: principal.id, roles: principal.roles, claims } };
}

/**
 * A key that is equal only for principals that no policy can tell apart. It contains everything that policies read of a
 * principal, and nothing that only proves its identity (a session, an expiry time). A result that is computed for one
 * principal and cached for others must be cached under this key, or under what the policies derived from it (a Scope's
 * grants).
 */
export function principalCacheKey(principal: Principal): string {
  switch (principal.kind) {
    case 'anonymous':
      return JSON.stringify([principal.kind]);
    case 'user':
      return JSON.stringify([principal.kind, principal.id, principal.roles, principal.claims]);
    case 'key':
      return JSON.stringify([principal.kind, principal.id, principal.roles, principal.resources, principal.actions]);
    case 'admin':
    case 'function':
      return JSON.stringify([principal.kind, principal.id, principal.roles]);
    default:
      return principal satisfies never;
  }
}
