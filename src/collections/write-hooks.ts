/**
 * The door for whatever sees writes of documents before they are made. This floor does not know who that is: others hang
 * their hooks here. Not here: when a write is shown, and what its answer means for the document (seen-writes.ts).
 */
import type { CollectionName } from '../database/names.ts';
import type { MillraceError } from '../kernel/errors.ts';
import type { JsonObject, WriteOrigin } from './change/next-document.ts';
import type { OpenTransaction } from './open-transaction.ts';

export type WriteAction = 'create' | 'update' | 'delete';

/** One write as a hook sees it: JSON texts, as GET would show the documents to a client that may read everything. */
export interface ShownWrite {
  /** The document that would be stored; null for a deletion. */
  readonly document: string | null;
  /** The document that is stored; null for a creation. */
  readonly before: string | null;
}

/** What writes that are shown together have in common. */
export interface Showing {
  readonly collection: CollectionName;
  readonly action: WriteAction;
  readonly origin: WriteOrigin;
  /** The transaction that the writes are a part of, if they are. */
  readonly within: OpenTransaction | undefined;
}

/** Null lets a write be as it is. Members take the place of what was sent. An error refuses it. */
export type HookAnswer = JsonObject | MillraceError | null;

export interface WriteHook {
  /**
   * Sees writes that nobody has made yet. A write is shown again when another writer was faster.
   * @returns a verdict on each; after one that refuses, the others do not matter
   * @throws MillraceError when no verdict can be given: then none of the writes is made
   */
  see(writes: readonly ShownWrite[], showing: Showing): Promise<readonly HookAnswer[]>;
}

export interface WriteHooks {
  /**
   * What sees such writes, in order: each sees what the one before it made. Null when nothing does. Asked for every write,
   * so it takes no time.
   */
  of(collection: CollectionName, action: WriteAction): readonly WriteHook[] | null;
}

/** Hooks of something that is opened after the collections. */
export class LateHooks implements WriteHooks {
  #hooks: WriteHooks | null = null;

  attach(hooks: WriteHooks): void {
    this.#hooks = hooks;
  }

  of(collection: CollectionName, action: WriteAction): readonly WriteHook[] | null {
    return this.#hooks === null ? null : this.#hooks.of(collection, action);
  }
}
