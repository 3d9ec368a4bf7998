/**
 * Evaluates a set of policies for one principal, action and resource: which policies apply, and what they grant and
 * deny with the principal's values in place of variables. Pure.
 */
import type { Document } from 'mongodb';
import type { AdminPrincipal, AdminRole, KeyPrincipal, Principal, ResourceAction } from '../auth/identity/principal.ts';
import type { ServerMode } from '../config/config.ts';
import { bindValue, bindVariables, missingVariables, type VariableBindings } from '../query/evaluate/bind-variables.ts';
import { sameFieldTree, unionFieldTrees } from '../query/evaluate/field-tree.ts';
import { compileMatcher } from '../query/evaluate/match.ts';
import { type BsonValue, type Filter, matchAllFilter, matchNoneFilter, or } from '../query/filter.ts';
import { principalBindings } from './bindings.ts';
import type { Policy } from './policy.ts';
import type { PolicySet } from './policy-set.ts';
import { type Grant, type PolicyAction, type Resource, toScopeAction } from './scope.ts';

/** Resources that are not collections: `*` does not include them. */
export const NON_COLLECTION_RESOURCES: ReadonlySet<string> = new Set([
  '_files',
  '_functions',
  '_webhooks',
  '_events',
  '_admin',
]);

/** How long a result that depends on the time is cached, in milliseconds. */
const NOW_STANDS_MS = 1_000;

/** The policies that apply, in the order of their ids. */
export interface ApplicablePolicies {
  readonly allows: readonly Policy[];
  readonly denies: readonly Policy[];
}

/** What is granted; there is always at least one grant. */
export interface GrantedAccess {
  readonly grants: readonly Grant[];
  readonly denied: Filter;
}

/** The cache key of a collection's results: collections that no policy names share one. */
export function resourceCacheKey(set: PolicySet, resource: string): string {
  return NON_COLLECTION_RESOURCES.has(resource) || set.named.has(resource) ? resource : '*';
}

/** @param resource as `resourceCacheKey` returns it */
export function findApplicablePolicies(
  set: PolicySet,
  mode: ServerMode,
  principal: Principal,
  action: PolicyAction,
  resource: string,
): ApplicablePolicies {
  const about = set.policies.filter(
    (policy) =>
      (policy.mode === null || policy.mode === mode) &&
      policy.actions.has(action) &&
      (policy.resources.has(resource) || (policy.resources.has('*') && !NON_COLLECTION_RESOURCES.has(resource))) &&
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
export function evaluateGrants(
  { allows, denies }: ApplicablePolicies,
  action: PolicyAction,
  principal: Principal,
  now: Date,
): GrantedAccess | null {
  const bindings = principalBindings(principal, now);
  const denied = or(denies.map((policy) => deniedBy(policy, bindings)));
  if (denied === matchAllFilter) return null;
  const grants = allows.flatMap((policy) => grantOf(policy, bindings));
  return grants.length === 0
    ? null
    : { grants: toScopeAction(action) === 'read' ? withoutSuperfluous(grants) : grants, denied };
}

/** Whether a deny matches a document; without one, whether it matches every document. */
export function policyDenies(policy: Policy, principal: Principal, now: Date, document: Document | null): boolean {
  const filter = deniedBy(policy, principalBindings(principal, now));
  return filter === matchAllFilter || (document !== null && compileMatcher(filter)(document));
}

function deniedBy({ filter: where }: Policy, bindings: VariableBindings): Filter {
  const { filter, missing } = bindVariables(where, bindings);
  return missing.length > 0 ? matchAllFilter : filter;
}

function grantOf({ id, filter: where, read, write, set }: Policy, bindings: VariableBindings): Grant[] {
  const { filter, missing } = bindVariables(where, bindings);
  if (missing.length > 0 || filter === matchNoneFilter) return [];
  const values = new Map<string, BsonValue>();
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
export function missingPolicyVariables(
  { allows, denies }: ApplicablePolicies,
  principal: Principal,
  now: Date,
): readonly string[] {
  const bindings = principalBindings(principal, now);
  const lacked = [...allows, ...denies].flatMap(({ effect, filter: where, set }) => [
    ...bindVariables(where, bindings).missing,
    ...(effect === 'allow' ? [...set.values()].flatMap((value) => missingVariables(value, bindings)) : []),
  ]);
  return [...new Set(lacked)];
}

/** Drops grants that add nothing to one that reaches every document. */
function withoutSuperfluous(grants: readonly Grant[]): readonly Grant[] {
  const widest = grants.find(
    (wide) =>
      wide.filter === matchAllFilter &&
      grants.every(({ read }) => sameFieldTree(unionFieldTrees([wide.read, read]), wide.read)),
  );
  return widest === undefined ? grants : [widest];
}

/** True if a key's own limits allow this. */
export function isKeyAllowed(
  { resources: collections, actions }: KeyPrincipal,
  named: PolicyAction,
  resource: string,
): boolean {
  const action = toScopeAction(named);
  return (actions === null || actions.includes(action)) && (collections === null || collections.includes(resource));
}

/**
 * When a result must be computed again, in milliseconds since 1970; null if only a change of the policies can change
 * it.
 */
export function grantExpiry({ allows, denies }: ApplicablePolicies, now: Date): number | null {
  return [...allows, ...denies].some(({ namesNow }) => namesNow) ? now.getTime() + NOW_STANDS_MS : null;
}

/** The earlier of two times, null for none. */
export function earlierTime(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/** One decision, stored to explain it later. */
export interface AccessDecision {
  readonly action: PolicyAction;
  readonly resource: string;
  readonly decision: 'allow' | 'deny';
  /** Policies that grant it or, when it was denied, that deny all of it. */
  readonly policies: readonly string[];
  /** True if an administrator's role allows it, without a policy. */
  readonly admin: boolean;
}

/** The resource of other users, keys and settings: not for the role that only builds. */
const USERS = '_admin:accounts' satisfies Resource;

const ADMIN_ROLE_RIGHTS: Readonly<Record<AdminRole, (action: ResourceAction, resource: string) => boolean>> = {
  owner: () => true,
  manager: () => true,
  developer: (_action, resource) => resource !== USERS,
  viewer: (action, resource) => action === 'read' && resource !== USERS,
};

/** What administrators may do by their roles: they need no policies. True if one of the roles allows this. */
export function isAdminAllowed({ roles }: AdminPrincipal, action: ResourceAction, resource: string): boolean {
  return roles.some((role) => Object.hasOwn(ADMIN_ROLE_RIGHTS, role) && ADMIN_ROLE_RIGHTS[role](action, resource));
}
