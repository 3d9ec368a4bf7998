/**
 * The granted answer to "may this principal do this action here?": a value that every operation on documents and files
 * must hold. Only this folder makes one, so a route that forgets authorisation does not compile.
 */
import type { Principal } from '../auth/identity/principal.ts';
import { everything, type Filter, field, nothing, type Value } from '../query/filter.ts';
import { ALL, type FieldTree, NONE } from './fields/field-tree.ts';

export const ACTIONS = ['read', 'create', 'update', 'delete', 'call'] as const;

export type Action = (typeof ACTIONS)[number];

/**
 * What a policy may name. `get` is to read one file by its id. `read` allows that too, and besides it lists, events and
 * live data.
 */
export type NamedAction = Action | 'get';

/** The words for actions in a policy: `subscribe` is another word for `read`. */
export const POLICY_ACTIONS = [...ACTIONS, 'subscribe', 'get'] as const;

/** The action of the Scope: to get one file is to read. */
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

/** What `principal` may do: the union of the grants (at least one), without what is denied. */
export interface Scope {
  readonly [brand]: 'Scope';
  readonly principal: Principal;
  readonly action: Action;
  /** The same array for equal questions of one principal, until the policies change, or the time that they name. */
  readonly grants: readonly Grant[];
  /**
   * Documents out of reach, whatever the grants say. It belongs to the grants: the same array comes with the same
   * filter.
   */
  readonly denied: Filter;
  /** What the principal may read in the same place: decides how much of a written document is shown. */
  readonly reader: Scope | null;
  /** When the Scope must be asked for again because a policy names the time; milliseconds since 1970, or null. */
  readonly until: number | null;
}

export type ScopeParts = Omit<Scope, typeof brand>;

/** Makes a Scope. Only this folder calls it. */
export function toScope(parts: ScopeParts): Scope {
  return Object.freeze(parts) as unknown as Scope;
}

const EVERYTHING: readonly Grant[] = [{ filter: everything, read: ALL, write: ALL, set: new Map(), policy: null }];

/** The Scope that reaches every document and every field. */
export function unlimited(principal: Principal, action: Action): Scope {
  const parts = { principal, grants: EVERYTHING, denied: nothing, until: null };
  if (action === 'read') return toScope({ ...parts, action, reader: null });
  return toScope({ ...parts, action, reader: unlimited(principal, 'read') });
}

/** The Scope of an answer that stays empty for now: it reaches no document, so any member may be named. */
export function readingNothing(principal: Principal): Scope {
  const grant = { filter: nothing, read: ALL, write: NONE, set: new Map(), policy: null };
  return toScope({ principal, action: 'read', grants: [grant], denied: nothing, reader: null, until: null });
}

/** The Scope of reading one document's bytes, and none of its members, for a request with a proof that allows it. */
export function readingOne(principal: Principal, id: Value): Scope {
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
export function readerOf(scope: Scope): Scope | null {
  return scope.action === 'read' ? scope : scope.reader;
}
