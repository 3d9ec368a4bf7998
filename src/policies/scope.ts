/**
 * The granted answer to "may this principal do this action here?": a value that every operation on documents and files
 * must hold. Only this folder makes one, so a route that forgets authorisation does not compile.
 */
import { ACTIONS, type Action, type Principal } from '../auth/identity/principal.ts';
import type { CollectionName } from '../database/names.ts';
import { ALL, type FieldTree, NONE } from '../query/evaluate/field-tree.ts';
import { everything, type Filter, field, nothing, type Value } from '../query/filter.ts';

/**
 * Places that are not collections: the files, the functions, the webhooks, the events of everything, and the administration.
 * `admin:accounts` (accounts, keys and settings) is for fewer roles than the rest of it.
 */
export const NOT_COLLECTIONS = ['files', 'functions', 'webhooks', 'events', 'admin', 'admin:accounts'] as const;

/** What a policy is about. */
export type Place = CollectionName | (typeof NOT_COLLECTIONS)[number];

/**
 * What a policy may name. `get` is to read one file by its id. `read` allows that too, and besides it lists, events and
 * live data.
 */
export type NamedAction = Action | 'get';

/** The words for actions in a policy: `subscribe` is another word for `read`. */
export const POLICY_ACTIONS = [...ACTIONS, 'subscribe', 'get'] as const;

/** The action of the Scope: to get one file is to read. */
export type ActionOf<A extends NamedAction> = A extends Action ? A : 'read';

export function actionOf(named: NamedAction): Action {
  return named === 'get' ? 'read' : named;
}

/**
 * One permission: the documents it reaches, and which of their members may be seen and set. Its variables are filled.
 */
export interface Grant {
  readonly filter: Filter;
  /** Members that may be seen; `_id` and `_meta` always are. */
  readonly read: FieldTree;
  /** Members that may be set. */
  readonly write: FieldTree;
  /** Members whose value is set by the policy, whatever the client sends. */
  readonly set: ReadonlyMap<string, Value>;
  /** Id of the policy that grants; null if no policy is needed. */
  readonly policy: string | null;
}

declare const brand: unique symbol;

/**
 * What `principal` may do: the union of the grants (at least one), without what is denied. Its type says for which action
 * and, where an operation needs to know, for which place it was granted: a Scope of reading cannot be given to a write.
 */
export interface Scope<A extends Action = Action, P extends Place = Place> {
  readonly [brand]: P;
  readonly principal: Principal;
  readonly action: A;
  /** The same array for equal questions of one principal, until the policies change, or the time that they name. */
  readonly grants: readonly Grant[];
  /**
   * Documents out of reach, whatever the grants say. It belongs to the grants: the same array comes with the same
   * filter.
   */
  readonly denied: Filter;
  /** What the principal may read in the same place: decides how much of a written document is shown. */
  readonly reader: Scope<'read'> | null;
  /** When the Scope must be asked for again because a policy names the time; milliseconds since 1970, or null. */
  readonly until: number | null;
}

export type ScopeParts<A extends Action = Action> = Omit<Scope<A>, typeof brand>;

/** Makes a Scope. Only this folder calls it. */
export function toScope<A extends Action>(parts: ScopeParts<A>): Scope<A> {
  return Object.freeze(parts) as unknown as Scope<A>;
}

/**
 * The Scope with the type of what it was granted for. Only this folder calls it.
 * @throws TypeError for a Scope of another action
 */
export function grantedFor<A extends NamedAction, P extends Place>(
  scope: Scope,
  action: A,
  _place: P,
): Scope<ActionOf<A>, P> {
  if (scope.action !== actionOf(action)) throw new TypeError(`A Scope of ${scope.action} was found for ${action}`);
  return scope as Scope<ActionOf<A>, P>;
}

const EVERYTHING: readonly Grant[] = [{ filter: everything, read: ALL, write: ALL, set: new Map(), policy: null }];

/** The Scope that reaches every document and every field. */
export function unlimited<A extends Action>(principal: Principal, action: A): Scope<A> {
  const reader = action === 'read' ? null : unlimited(principal, 'read');
  return toScope({ principal, action, grants: EVERYTHING, denied: nothing, until: null, reader });
}

/** The Scope of an answer that stays empty for now: it reaches no document, so any member may be named. */
export function readingNothing(principal: Principal): Scope<'read'> {
  const grant = { filter: nothing, read: ALL, write: NONE, set: new Map(), policy: null };
  return toScope({ principal, action: 'read', grants: [grant], denied: nothing, reader: null, until: null });
}

/** The Scope of reading one document's bytes, and none of its members, for a request with a proof that allows it. */
export function readingOne(principal: Principal, id: Value): Scope<'read'> {
  const grant = {
    filter: field('_id', { op: 'in', values: [id] }),
    read: NONE,
    write: NONE,
    set: new Map(),
    policy: null,
  };
  return toScope({ principal, action: 'read', grants: [grant], denied: nothing, reader: null, until: null });
}

/**
 * The Scope that decides how much of the result is shown: a write has a separate one for reading, a read is its own.
 */
export function readerOf(scope: Scope): Scope<'read'> | null {
  return isReading(scope) ? scope : scope.reader;
}

function isReading(scope: Scope): scope is Scope<'read'> {
  return scope.action === 'read';
}

/** Whether a Scope that holds for a limited time has ended. */
export function isOver(scope: Scope | null, now: () => Date): boolean {
  return scope !== null && scope.until !== null && now().getTime() >= scope.until;
}
