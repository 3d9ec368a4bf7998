/**
 * Tests documents that the database found by a Scope's filter once more in memory, if the server's regex engine may
 * have given up on one: a document that a policy denies must not be shown because a text in it is long. Not here: which
 * filters need this (query/evaluate/certainty.ts).
 */
import { mapInTurns } from '../kernel/concurrency/pauses.ts';
import { askStored, databaseDecides, reaches } from './reach.ts';
import type { Scope } from './scope.ts';

/** The documents that the Scope reaches, in their order; the same list where the database's answer is certain. */
export async function reachedOf<T extends Uint8Array>(scope: Scope, found: readonly T[]): Promise<readonly T[]> {
  if (databaseDecides(scope)) return found;
  const answers = await mapInTurns(found, (raw) => askStored(scope, raw, reaches));
  return found.filter((_, index) => answers[index]);
}

/**
 * The documents that a page and its cursors are made of: a cursor reveals the sort key of the last one. If none of them
 * is reached, the page is empty and the next one begins after what was found.
 */
export async function pageOfReached<T extends Uint8Array>(
  scope: Scope,
  found: { readonly documents: readonly T[]; readonly more?: boolean },
): Promise<{ readonly documents: readonly T[]; readonly more?: boolean }> {
  const documents = await reachedOf(scope, found.documents);
  if (documents.length === found.documents.length || documents.length === 0) return found;
  return { documents, more: true };
}

/** How many of the documents the Scope reaches; they are read batch by batch. */
export async function countReached(scope: Scope, batches: AsyncIterable<readonly Uint8Array[]>): Promise<number> {
  let count = 0;
  for await (const batch of batches) count += (await reachedOf(scope, batch)).length;
  return count;
}
