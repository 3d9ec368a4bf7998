/** Decides from the policies in memory whether a principal may do an action; the decisions are cached per principal. */
import type { Document } from 'mongodb';
import type { Principal } from '../auth/identity/principal.ts';
import type { ServerMode } from '../config/config.ts';
import { isCollectionName } from '../database/parse-collection-name.ts';
import { MillraceError } from '../lib/errors.ts';
import {
  type AccessDecision,
  type ApplicablePolicies,
  earlierTime,
  evaluateGrants,
  findApplicablePolicies,
  type GrantedAccess,
  grantExpiry,
  isAdminAllowed,
  isKeyAllowed,
  missingPolicyVariables,
  policyDenies,
  resourceCacheKey,
} from './evaluation.ts';
import { ALLOW_ALL_POLICY, ALLOW_ALL_POLICY_ID, type PolicySet, toPolicySet } from './policy-set.ts';
import {
  BUILT_IN_RESOURCES,
  castScope,
  createScope,
  emptyReadScope,
  isScopeExpired,
  type PolicyAction,
  type Resource,
  readScopeOf,
  type Scope,
  type ScopeAction,
  toScopeAction,
  unlimitedScope,
} from './scope.ts';

/** Represents every collection that no policy names: they all get the same decision. */
const UNNAMED = '*';

/** The resources of which a principal may read something. */
export interface ReadableResources {
  readonly anything: boolean;
  /** Resources with a name of their own in policies, or in the limits of a key. */
  readonly resources: readonly Resource[];
  /** True if it may also read collections that nothing names. */
  readonly unnamed: boolean;
}

/** Maximum decisions stored for an explanation: a request takes a few, but a feed or a socket might take any number. */
const MAX_DECISIONS = 50;

/** Maximum cached grants that several principals share. */
const MAX_SHARED = 1_000;

export class Policies {
  readonly #mode: ServerMode;
  readonly #now: () => Date;
  readonly #listeners = new Set<() => void>();
  /** Null while the policies cannot be read: then only administrators are allowed anything. */
  #set: PolicySet | null;
  #generation = 0;
  #scopes = new WeakMap<Principal, Map<string, Scope | null>>();
  #readable = new WeakMap<Principal, ReadableResources>();
  #shared = new Map<string, GrantedAccess | null>();
  readonly #watched = new WeakMap<Principal, AccessDecision[]>();

  /** Starts with the policies of an instance that has stored none. */
  constructor(mode: ServerMode, now: () => Date = () => new Date()) {
    this.#mode = mode;
    this.#now = now;
    this.#set = toPolicySet(mode === 'development' ? [{ id: ALLOW_ALL_POLICY_ID, policy: ALLOW_ALL_POLICY }] : []);
  }

  /**
   * The Scope of one request. The error lists the variables that have no value, if they are the principal's own.
   * @throws MillraceError `not-authenticated` for anonymous, `forbidden` for others, `policies-unavailable`
   */
  scope<A extends PolicyAction, P extends Resource>(
    principal: Principal,
    action: A,
    resource: P,
  ): Scope<ScopeAction<A>, P> {
    const scope = this.find(principal, action, resource);
    if (scope) return scope;
    if (principal.kind === 'anonymous') {
      throw new MillraceError('not-authenticated', 'Sign in to use this server', {
        headers: { 'www-authenticate': 'Bearer realm="millrace"' },
      });
    }
    const lacked = this.#lacked(principal, action, resource);
    throw new MillraceError('forbidden', `No policy allows ${action} in '${resource}'`, {
      ...(lacked.length > 0 && {
        hint: `A policy needs values that you do not have: ${lacked.join(', ')}. Administrators of the server set claims`,
      }),
    });
  }

  /**
   * The same for an optional part of a response: null where no policy allows it.
   * @throws MillraceError `policies-unavailable`
   */
  find<A extends PolicyAction, P extends Resource>(
    principal: Principal,
    action: A,
    resource: P,
  ): Scope<ScopeAction<A>, P> | null {
    const scope = this.#find(principal, action, resource);
    const decisions = this.#watched.get(principal);
    const mayAdd = decisions !== undefined && decisions.length < MAX_DECISIONS;
    if (mayAdd && !isRepeated(decisions.at(-1), action, resource))
      decisions.push(this.#explain(principal, action, resource, scope));
    return scope && castScope(scope, action, resource);
  }

  /**
   * The Scope of reading for a response that continues while rights change. If only a value is missing, such as a
   * removed claim, the Scope reaches nothing: the result is empty until the value is back.
   * @returns null where no policy allows it
   * @throws MillraceError `policies-unavailable`
   */
  findLive(principal: Principal, resource: Resource): Scope<'read'> | null {
    const scope = this.find(principal, 'read', resource);
    return scope === null && this.#lacked(principal, 'read', resource).length > 0 ? emptyReadScope(principal) : scope;
  }

  /**
   * The resources of which a principal may read something; without readable policies, only administrators have any.
   * @param live whether to include those that it may read as soon as a value exists (`findLive`)
   */
  readable(principal: Principal, live = false): ReadableResources {
    const known = live ? undefined : this.#readable.get(principal);
    if (known !== undefined) return known;
    const isOpen = this.#set !== null || principal.kind === 'admin';
    const waits = (resource: Resource | typeof UNNAMED) => live && this.#lacked(principal, 'read', resource).length > 0;
    const reads = (resource: Resource | typeof UNNAMED) =>
      isOpen && (this.#find(principal, 'read', resource) !== null || waits(resource));
    const limits = principal.kind === 'key' ? (principal.resources ?? []) : [];
    const named = [...new Set([...(this.#set?.named ?? []), ...limits])].filter(isCollectionName);
    const resources = [...BUILT_IN_RESOURCES, ...named].filter(reads);
    const unnamed = reads(UNNAMED);
    const readable = { anything: unnamed || resources.length > 0, resources, unnamed };
    if (!live) this.#readable.set(principal, readable);
    return readable;
  }

  /** Replaces the active policies. */
  use(set: PolicySet): void {
    this.#become(set);
  }

  /** Allows only administrators, until there are policies again. */
  close(): void {
    if (this.#set !== null) this.#become(null);
  }

  /**
   * Calls the listener in every process, within a second, when the policies have changed: Scopes must be requested
   * again.
   * @returns a function that stops the calls
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The same principal, with a list of its first decisions from now on. */
  recordDecisions<P extends Principal>(
    principal: P,
  ): { readonly principal: P; readonly decisions: readonly AccessDecision[] } {
    const watched = { ...principal };
    const decisions: AccessDecision[] = [];
    this.#watched.set(watched, decisions);
    return { principal: watched, decisions };
  }

  /**
   * The policy that denies a document, or all of a resource.
   * @param document null for the resource as a whole
   */
  findDenyingPolicy(
    principal: Principal,
    action: PolicyAction,
    resource: Resource,
    document: Document | null,
  ): string | null {
    const set = this.#set;
    if (set === null || principal.kind === 'admin') return null;
    const { denies } = findApplicablePolicies(set, this.#mode, principal, action, aboutOf(set, resource));
    return denies.find((policy) => policyDenies(policy, principal, this.#now(), document))?.id ?? null;
  }

  /** A number that changes whenever the policies change. */
  get generation(): number {
    return this.#generation;
  }

  #become(set: PolicySet | null): void {
    this.#set = set;
    this.#generation += 1;
    this.#scopes = new WeakMap();
    this.#readable = new WeakMap();
    this.#shared = new Map();
    for (const listener of this.#listeners) listener();
  }

  #find(principal: Principal, action: PolicyAction, resource: Resource | typeof UNNAMED): Scope | null {
    const does = toScopeAction(action);
    if (principal.kind === 'admin')
      return isAdminAllowed(principal, does, resource) ? unlimitedScope(principal, does) : null;
    const set = this.#set;
    if (set === null) {
      throw new MillraceError('policies-unavailable', 'The policies cannot be read at the moment', {
        headers: { 'retry-after': '1' },
      });
    }
    if (principal.kind === 'key' && !isKeyAllowed(principal, action, resource)) return null;
    const about = aboutOf(set, resource);
    // A key may be limited to some of the collections that no policy names.
    const key =
      principal.kind === 'key' && principal.resources !== null ? `${action} ${resource}` : `${action} ${about}`;
    const kept = this.#keptOf(principal);
    const known = kept.get(key);
    if (known !== undefined && !isScopeExpired(known, this.#now)) return known;
    const created = this.#make(set, principal, action, resource, about);
    kept.set(key, created);
    return created;
  }

  /** Variables without a value that deny access. Anonymous clients, administrators and limits of keys have none. */
  #lacked(principal: Principal, action: PolicyAction, resource: Resource | typeof UNNAMED): readonly string[] {
    const set = this.#set;
    if (set === null || principal.kind === 'admin' || principal.kind === 'anonymous') return [];
    if (principal.kind === 'key' && !isKeyAllowed(principal, action, resource)) return [];
    const spoken = findApplicablePolicies(set, this.#mode, principal, action, aboutOf(set, resource));
    return spoken.allows.length === 0 ? [] : missingPolicyVariables(spoken, principal, this.#now());
  }

  #keptOf(principal: Principal): Map<string, Scope | null> {
    const kept = this.#scopes.get(principal);
    if (kept !== undefined) return kept;
    const empty = new Map<string, Scope | null>();
    this.#scopes.set(principal, empty);
    return empty;
  }

  #make(
    set: PolicySet,
    principal: Principal,
    action: PolicyAction,
    resource: Resource | typeof UNNAMED,
    about: string,
  ): Scope | null {
    const now = this.#now();
    const spoken = findApplicablePolicies(set, this.#mode, principal, action, about);
    const granted = this.#grant(spoken, action, principal, now);
    if (granted === null) return null;
    const does = toScopeAction(action);
    const reader = does === 'read' ? null : this.#reader(principal, resource);
    const until = earlierTime(grantExpiry(spoken, now), reader?.until ?? null);
    return createScope({ ...granted, principal, action: does, reader, until });
  }

  /** A response about a created or deleted file shows what the client may `get`: it concerns that one file. */
  #reader(principal: Principal, resource: Resource | typeof UNNAMED): Scope<'read'> | null {
    const scope = this.#find(principal, resource === '_files' ? 'get' : 'read', resource);
    return scope && readScopeOf(scope);
  }

  /** What is equal for several principals is computed once, so that their reads can share database calls. */
  #grant(spoken: ApplicablePolicies, action: PolicyAction, principal: Principal, now: Date): GrantedAccess | null {
    const all = [...spoken.allows, ...spoken.denies];
    if (all.some(({ namesUser, namesNow }) => namesUser || namesNow))
      return evaluateGrants(spoken, action, principal, now);
    const key = JSON.stringify([action, all.map(({ id }) => id)]);
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const created = evaluateGrants(spoken, action, principal, now);
    if (this.#shared.size < MAX_SHARED) this.#shared.set(key, created);
    return created;
  }

  #explain(principal: Principal, action: PolicyAction, resource: Resource, scope: Scope | null): AccessDecision {
    const admin = principal.kind === 'admin';
    const reported = { action, resource: resource, admin, decision: scope === null ? 'deny' : 'allow' } as const;
    if (scope !== null) return { ...reported, policies: scope.grants.flatMap(({ policy }) => policy ?? []) };
    if (admin || this.#set === null) return { ...reported, policies: [] };
    const deny = this.findDenyingPolicy(principal, action, resource, null);
    return { ...reported, policies: deny === null ? [] : [deny] };
  }
}

function isRepeated(last: AccessDecision | undefined, action: PolicyAction, resource: Resource): boolean {
  return last?.action === action && last.resource === resource;
}

function aboutOf(set: PolicySet, resource: Resource | typeof UNNAMED): string {
  return resourceCacheKey(set, resource === '_admin:accounts' ? '_admin' : resource);
}
