/** Context of every document write besides its Scope: its request and its conditions. */
import type { Scope } from '../policies/scope.ts';
import type { TransactionContext } from './open-transaction.ts';
import type { Preconditions } from './store/preconditions.ts';

/** The request a write belongs to. */
export interface WriteContext {
  readonly request: string;
  readonly preconditions: Preconditions;
  /** The transaction of the write, if any. */
  readonly within?: TransactionContext;
}

/** The Scopes of a replacement: for changing an existing document, and for creating a missing one. */
export interface WriteScopes {
  readonly update: Scope<'update'> | null;
  readonly create: Scope<'create'> | null;
}
