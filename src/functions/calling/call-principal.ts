/** As whom a function acts in one call, and what it is told of that. Pure. */
import type { FunctionPrincipal, Principal } from '../../auth/identity/principal.ts';
import type { PluginFunction } from '../plugins/plugin.ts';

const OWN = new WeakMap<PluginFunction, FunctionPrincipal>();

/**
 * The caller, or the function itself. A function is the same object in every call, so that what policies decide for it is kept.
 * @throws TypeError for `as: caller` without a caller
 */
export function principalOf(fn: PluginFunction, caller: Principal | null): Principal {
  if (fn.as === 'function') return ownOf(fn);
  if (caller === null) throw new TypeError(`${fn.id} acts as its caller, and nobody called it`);
  return caller;
}

function ownOf(fn: PluginFunction): FunctionPrincipal {
  const known = OWN.get(fn);
  if (known !== undefined) return known;
  const made: FunctionPrincipal = Object.freeze({ kind: 'function', id: fn.id, roles: fn.roles });
  OWN.set(fn, made);
  return made;
}

/** A principal as policies know it; sessions and times of expiry are nobody's business. */
export function principalFacts(principal: Principal): Readonly<Record<string, unknown>> {
  const { kind } = principal;
  if (kind === 'anonymous') return { kind, id: null, roles: [], claims: {} };
  const { id, roles } = principal;
  return { kind, id, roles, claims: kind === 'user' ? principal.claims : {} };
}
