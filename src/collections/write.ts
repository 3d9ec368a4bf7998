/** What every write of documents is given besides its Scope: the request it belongs to, and its conditions. */
import type { Scope } from '../policies/scope.ts';
import type { OpenTransaction } from './open-transaction.ts';
import type { Preconditions } from './store/preconditions.ts';

/** The request a write belongs to. */
export interface Write {
  readonly request: string;
  readonly preconditions: Preconditions;
  /** The transaction that the write is a part of. */
  readonly within?: OpenTransaction;
}

/** The Scopes of a replacement: for changing a document that exists, and for creating one that does not. */
export interface WriteScopes {
  readonly update: Scope<'update'> | null;
  readonly create: Scope<'create'> | null;
}
