/** The values that variables have for a principal: in policies, and in the filters that it asks with. Pure. */
import type { Principal } from '../auth/principal.ts';
import type { Bindings } from '../query/evaluate/bind.ts';

/** @param now the moment that `$now` means */
export function bindingsOf(principal: Principal, now: Date): Bindings {
  if (principal.kind === 'anonymous') return { now, user: null };
  const claims = principal.kind === 'user' ? principal.claims : {};
  return { now, user: { id: principal.id, roles: principal.roles, claims } };
}
