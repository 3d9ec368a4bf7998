/** The principal of one call, and what the function sees of it. Pure. */
import type { FunctionPrincipal, Principal } from '../../auth/identity/principal.ts';
import type { PluginFunction } from '../plugins/plugin.ts';

const OWN = new WeakMap<PluginFunction, FunctionPrincipal>();

/**
 * The caller, or the function itself. The principal of a function is the same object in every call, so that policy
 * decisions about it are cached.
 * @throws TypeError for `as: caller` without a caller
 */
export function resolvePrincipal(fn: PluginFunction, caller: Principal | null): Principal {
  if (fn.as === 'function') return ownOf(fn);
  if (caller === null) throw new TypeError(`${fn.id} runs as its caller, and there is no caller`);
  return caller;
}

function ownOf(fn: PluginFunction): FunctionPrincipal {
  const known = OWN.get(fn);
  if (known !== undefined) return known;
  const created: FunctionPrincipal = Object.freeze({ kind: 'function', id: fn.id, roles: fn.roles });
  OWN.set(fn, created);
  return created;
}

/** A principal as policies see it, without its session and expiry. */
export function toContextPrincipal(principal: Principal): Readonly<Record<string, unknown>> {
  const { kind } = principal;
  if (kind === 'anonymous') return { kind, id: null, roles: [], claims: {} };
  const { id, roles } = principal;
  return { kind, id, roles, claims: kind === 'user' ? principal.claims : {} };
}
