/** The interface of write hooks. This layer does not know the hooks; others register theirs here. */
import type { CollectionName } from '../database/parse-collection-name.ts';
import type { MillraceError } from '../lib/errors.ts';
import type { TransactionContext } from './open-transaction.ts';
import type { JsonObject, WriteAttribution } from './write/build-document.ts';

export type WriteAction = 'create' | 'update' | 'delete';

/** One write as a hook sees it: JSON texts, as GET would return the documents to a client that may read everything. */
export interface WriteHookInput {
  /** The document that would be stored; null for a deletion. */
  readonly document: string | null;
  /** The stored document; null for a creation. */
  readonly before: string | null;
}

/** What writes of one batch have in common. */
export interface WriteHookContext {
  readonly collection: CollectionName;
  readonly action: WriteAction;
  readonly origin: WriteAttribution;
  /** The transaction of the writes, if any. */
  readonly within: TransactionContext | undefined;
}

/** Null keeps the write. An object replaces the fields that were sent. An error rejects the write. */
export type HookResponse = JsonObject | MillraceError | null;

export interface WriteHook {
  /**
   * Checks writes before they are executed. A write is passed again when another writer was faster.
   * @returns a result for each; after a rejection, the others are irrelevant
   * @throws MillraceError when a hook fails: then none of the writes is executed
   */
  check(writes: readonly WriteHookInput[], showing: WriteHookContext): Promise<readonly HookResponse[]>;
}

export interface WriteHooks {
  /**
   * The hooks for such writes, in order: each gets the result of the one before. Null when there are none. Called for
   * every write, so it must be fast.
   */
  hooksFor(collection: CollectionName, action: WriteAction): readonly WriteHook[] | null;
}

/** Hooks of a component that is opened after the collections. */
export class LateBoundHooks implements WriteHooks {
  #hooks: WriteHooks | null = null;

  attach(hooks: WriteHooks): void {
    this.#hooks = hooks;
  }

  hooksFor(collection: CollectionName, action: WriteAction): readonly WriteHook[] | null {
    return this.#hooks === null ? null : this.#hooks.hooksFor(collection, action);
  }
}
