/**
 * The granted answer to "may this principal do this action here?": a value that every operation on documents and files
 * must hold. Only this folder makes one, so a route that forgets authorisation does not compile.
 */
import type { Principal } from '../auth/principal.ts';
import { everything, type Filter } from '../query/filter.ts';

export type Action = 'read' | 'create' | 'update' | 'delete' | 'call';

/** One permission: the documents it reaches. */
export interface Grant {
  readonly filter: Filter;
}

declare const brand: unique symbol;

/** What `principal` may do: the union of the grants, never empty. */
export interface Scope {
  readonly [brand]: 'Scope';
  readonly principal: Principal;
  readonly action: Action;
  readonly grants: readonly Grant[];
}

const EVERYTHING: readonly Grant[] = [{ filter: everything }];

/** The Scope that reaches every document and every field. */
export function unlimited(principal: Principal, action: Action): Scope {
  return Object.freeze({ principal, action, grants: EVERYTHING }) as unknown as Scope;
}
