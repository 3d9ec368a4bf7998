/**
 * Evaluates a set of policies for one principal, action and resource: which policies apply, and what they grant and
 * deny with the principal's values in place of variables. Pure.
 */
import type { Document } from 'mongodb';
import type { KeyPrincipal, Principal } from '../auth/identity/principal.ts';
import type { Mode } from '../config/config.ts';
import { type Bindings, bind, bindValue, missingIn } from '../query/evaluate/bind-variables.ts';
import { sameTree, union } from '../query/evaluate/field-tree.ts';
import { compileMatch } from '../query/evaluate/match.ts';
import { everything, type Filter, nothing, or, type Value } from '../query/filter.ts';
import { bindingsOf } from './bindings.ts';
import type { Policy } from './policy.ts';
import type { PolicySet } from './policy-set.ts';
import { actionOf, type Grant, type NamedAction } from './scope.ts';

/** Resources that are not collections: `*` does not include them. */
export const OTHER_RESOURCES: ReadonlySet<string> = new Set(['_files', '_functions', '_webhooks', '_events', '_admin']);

/** How long a result that depends on the time is cached, in milliseconds. */
const NOW_STANDS_MS = 1_000;

/** The policies that apply, in the order of their ids. */
export interface Spoken {
  readonly allows: readonly Policy[];
  readonly denies: readonly Policy[];
}

/** What is granted; there is always at least one grant. */
export interface Granted {
  readonly grants: readonly Grant[];
  readonly denied: Filter;
}

/** The cache key of a collection's results: collections that no policy names share one. */
export function resourceKey(set: PolicySet, resource: string): string {
  return OTHER_RESOURCES.has(resource) || set.named.has(resource) ? resource : '*';
}

/** @param resource as `placeKey` returns it */
export function policiesFor(
  set: PolicySet,
  mode: Mode,
  principal: Principal,
  action: NamedAction,
  resource: string,
): Spoken {
  const about = set.policies.filter(
    (policy) =>
      (policy.mode === null || policy.mode === mode) &&
      policy.actions.has(action) &&
      (policy.resources.has(resource) || (policy.resources.has('*') && !OTHER_RESOURCES.has(resource))) &&
      isAbout(policy, principal),
  );
  return {
    allows: about.filter(({ effect }) => effect === 'allow'),
    denies: about.filter(({ effect }) => effect === 'deny'),
  };
}

function isAbout({ principals }: Policy, principal: Principal): boolean {
  if (principals === undefined) return true;
  if (principal.kind === 'anonymous') return principals.anonymous === true;
  const { authenticated, roles = [], users = [], keys = [] } = principals;
  const held: readonly string[] = principal.roles;
  return (
    authenticated === true ||
    roles.some((role) => held.includes(role)) ||
    (principal.kind === 'user' && users.includes(principal.id)) ||
    (principal.kind === 'key' && keys.includes(principal.id))
  );
}

/**
 * What the policies grant with the principal's values. An allow whose variable has no value matches nothing; such a
 * deny matches everything.
 * @returns null when no document is granted
 */
export function grant(
  { allows, denies }: Spoken,
  action: NamedAction,
  principal: Principal,
  now: Date,
): Granted | null {
  const bindings = bindingsOf(principal, now);
  const denied = or(denies.map((policy) => deniedBy(policy, bindings)));
  if (denied === everything) return null;
  const grants = allows.flatMap((policy) => grantOf(policy, bindings));
  return grants.length === 0
    ? null
    : { grants: actionOf(action) === 'read' ? withoutSuperfluous(grants) : grants, denied };
}

/** Whether a deny matches a document; without one, whether it matches every document. */
export function isDenied(policy: Policy, principal: Principal, now: Date, document: Document | null): boolean {
  const filter = deniedBy(policy, bindingsOf(principal, now));
  return filter === everything || (document !== null && compileMatch(filter)(document));
}

function deniedBy({ filter: where }: Policy, bindings: Bindings): Filter {
  const { filter, missing } = bind(where, bindings);
  return missing.length > 0 ? everything : filter;
}

function grantOf({ id, filter: where, read, write, set }: Policy, bindings: Bindings): Grant[] {
  const { filter, missing } = bind(where, bindings);
  if (missing.length > 0 || filter === nothing) return [];
  const values = new Map<string, Value>();
  for (const [name, open] of set) {
    const value = bindValue(open, bindings);
    if (value === undefined) return [];
    values.set(name, value);
  }
  return [{ filter, read, write, set: values, policy: id }];
}

/**
 * The variables that have no value for a principal, so that an allow grants it nothing or a deny denies everything.
 * @returns names as they were written (`$user.claims.tenant`), each once
 */
export function lackedBy({ allows, denies }: Spoken, principal: Principal, now: Date): readonly string[] {
  const bindings = bindingsOf(principal, now);
  const lacked = [...allows, ...denies].flatMap(({ effect, filter: where, set }) => [
    ...bind(where, bindings).missing,
    ...(effect === 'allow' ? [...set.values()].flatMap((value) => missingIn(value, bindings)) : []),
  ]);
  return [...new Set(lacked)];
}

/** Drops grants that add nothing to one that reaches every document. */
function withoutSuperfluous(grants: readonly Grant[]): readonly Grant[] {
  const widest = grants.find(
    (wide) => wide.filter === everything && grants.every(({ read }) => sameTree(union([wide.read, read]), wide.read)),
  );
  return widest === undefined ? grants : [widest];
}

/** True if a key's own limits allow this. */
export function keyMay(
  { resources: collections, actions }: KeyPrincipal,
  named: NamedAction,
  resource: string,
): boolean {
  const action = actionOf(named);
  return (actions === null || actions.includes(action)) && (collections === null || collections.includes(resource));
}

/**
 * When a result must be computed again, in milliseconds since 1970; null if only a change of the policies can change
 * it.
 */
export function untilOf({ allows, denies }: Spoken, now: Date): number | null {
  return [...allows, ...denies].some(({ namesNow }) => namesNow) ? now.getTime() + NOW_STANDS_MS : null;
}

/** The earlier of two times, null for none. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
