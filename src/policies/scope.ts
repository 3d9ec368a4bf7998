/**
 * The granted answer to "may this principal do this action here?": a value that every operation on documents and files
 * requires. Only this folder creates one, so a route that forgets authorization does not compile.
 */
import { type Principal, RESOURCE_ACTIONS, type ResourceAction } from '../auth/identity/principal.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';
import { EMPTY_FIELD_TREE, type FieldTree, FULL_FIELD_TREE } from '../query/evaluate/field-tree.ts';
import { type BsonValue, type Filter, fieldFilter, matchAllFilter, matchNoneFilter } from '../query/filter.ts';

/**
 * Resources that are not collections: the files, the functions, the webhooks, all events, and the administration.
 * `_admin:accounts` (users, keys and settings) is for fewer roles than the rest of it.
 */
export const BUILT_IN_RESOURCES = [
  '_files',
  '_functions',
  '_webhooks',
  '_events',
  '_admin',
  '_admin:accounts',
] as const;

/** The resource of a policy. */
export type Resource = CollectionName | (typeof BUILT_IN_RESOURCES)[number];

/**
 * What a policy may name. `get` reads one file by its id. `read` includes that, and also lists, events and live data.
 */
export type PolicyAction = ResourceAction | 'get';

/** The words for actions in a policy: `subscribe` is another word for `read`. */
export const POLICY_ACTIONS = [...RESOURCE_ACTIONS, 'subscribe', 'get'] as const;

/** The action of the Scope: getting one file is reading. */
export type ScopeAction<A extends PolicyAction> = A extends ResourceAction ? A : 'read';

export function toScopeAction(named: PolicyAction): ResourceAction {
  return named === 'get' ? 'read' : named;
}

/**
 * One permission: the documents it reaches, and which of their fields are visible and may be set. Its variables are
 * filled.
 */
export interface Grant {
  readonly filter: Filter;
  /** Visible fields; `_id` and `_meta` always are. */
  readonly read: FieldTree;
  /** Fields that may be set. */
  readonly write: FieldTree;
  /** Fields whose value the policy sets, whatever the client sends. */
  readonly set: ReadonlyMap<string, BsonValue>;
  /** Id of the policy that grants; null if no policy is needed. */
  readonly policy: string | null;
}

declare const brand: unique symbol;

/**
 * What `principal` may do: the union of the grants (at least one), without what is denied. Its type contains the action
 * and, where an operation needs it, the resource that it was granted for: a Scope of reading cannot be passed to a
 * write.
 */
export interface Scope<A extends ResourceAction = ResourceAction, P extends Resource = Resource> {
  readonly [brand]: P;
  readonly principal: Principal;
  readonly action: A;
  /**
   * The same array for equal requests of one principal, until the policies change, or until the time that they name.
   */
  readonly grants: readonly Grant[];
  /**
   * Documents out of reach, whatever the grants say. It belongs to the grants: the same array comes with the same
   * filter.
   */
  readonly denied: Filter;
  /** What the principal may read of the same resource: decides how much of a written document is returned. */
  readonly reader: Scope<'read'> | null;
  /** When the Scope must be requested again because a policy names the time; milliseconds since 1970, or null. */
  readonly until: number | null;
}

export type ScopeInit<A extends ResourceAction = ResourceAction> = Omit<Scope<A>, typeof brand>;

/** Creates a Scope. Only this folder calls it. */
export function createScope<A extends ResourceAction>(deps: ScopeInit<A>): Scope<A> {
  return Object.freeze(deps) as unknown as Scope<A>;
}

/**
 * The Scope with the type of what it was granted for. Only this folder calls it.
 * @throws TypeError for a Scope of another action
 */
export function castScope<A extends PolicyAction, P extends Resource>(
  scope: Scope,
  action: A,
  _resource: P,
): Scope<ScopeAction<A>, P> {
  if (scope.action !== toScopeAction(action))
    throw new TypeError(`A Scope of ${scope.action} was passed for ${action}`);
  return scope as Scope<ScopeAction<A>, P>;
}

const EVERYTHING: readonly Grant[] = [
  { filter: matchAllFilter, read: FULL_FIELD_TREE, write: FULL_FIELD_TREE, set: new Map(), policy: null },
];

/** The Scope that reaches every document and every field. */
export function unlimitedScope<A extends ResourceAction>(principal: Principal, action: A): Scope<A> {
  const reader = action === 'read' ? null : unlimitedScope(principal, 'read');
  return createScope({ principal, action, grants: EVERYTHING, denied: matchNoneFilter, until: null, reader });
}

/** The Scope of a result that stays empty for now: it reaches no document, so any field may be named. */
export function emptyReadScope(principal: Principal): Scope<'read'> {
  const grant = {
    filter: matchNoneFilter,
    read: FULL_FIELD_TREE,
    write: EMPTY_FIELD_TREE,
    set: new Map(),
    policy: null,
  };
  return createScope({
    principal,
    action: 'read',
    grants: [grant],
    denied: matchNoneFilter,
    reader: null,
    until: null,
  });
}

/** The Scope of reading one document's bytes, and none of its fields, for a request with a proof that allows it. */
export function signedUrlReadScope(principal: Principal, id: BsonValue): Scope<'read'> {
  const grant = {
    filter: fieldFilter('_id', { op: 'in', values: [id] }),
    read: EMPTY_FIELD_TREE,
    write: EMPTY_FIELD_TREE,
    set: new Map(),
    policy: null,
  };
  return createScope({
    principal,
    action: 'read',
    grants: [grant],
    denied: matchNoneFilter,
    reader: null,
    until: null,
  });
}

/**
 * The Scope that decides how much of the result is returned: a write has a separate one for reading, a read is its own.
 */
export function readScopeOf(scope: Scope): Scope<'read'> | null {
  return isReading(scope) ? scope : scope.reader;
}

function isReading(scope: Scope): scope is Scope<'read'> {
  return scope.action === 'read';
}

/** Whether a Scope with a time limit has expired. */
export function isScopeExpired(scope: Scope | null, now: () => Date): boolean {
  return scope !== null && scope.until !== null && now().getTime() >= scope.until;
}
