/**
 * What policies can read of a principal: the values of its variables, in policies and in its own filters, and the text
 * under which answers made for it may be shared. Pure.
 */
import type { Principal } from '../auth/identity/principal.ts';
import type { Bindings } from '../query/evaluate/bind.ts';

/** @param now the moment that `$now` means */
export function bindingsOf(principal: Principal, now: Date): Bindings {
  if (principal.kind === 'anonymous') return { now, user: null };
  const claims = principal.kind === 'user' ? principal.claims : {};
  return { now, user: { id: principal.id, roles: principal.roles, claims } };
}

/**
 * A text that is the same only for principals that no policy can tell apart. It holds everything that policies read of
 * a principal, and nothing that only proves its identity (a session, a time of expiry). A result that is computed for
 * one principal and kept for others must be kept under this text, or under what the policies made of it (a Scope's
 * grants).
 */
export function bindingKey(principal: Principal): string {
  switch (principal.kind) {
    case 'anonymous':
      return JSON.stringify([principal.kind]);
    case 'user':
      return JSON.stringify([principal.kind, principal.id, principal.roles, principal.claims]);
    case 'key':
      return JSON.stringify([principal.kind, principal.id, principal.roles, principal.collections, principal.actions]);
    case 'owner':
    case 'function':
      return JSON.stringify([principal.kind, principal.id, principal.roles]);
    default:
      return principal satisfies never;
  }
}
