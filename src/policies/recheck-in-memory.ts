/**
 * Tests documents that the database found by a Scope's filter again in memory, if the server's regex engine may have
 * given up on one: a document that a policy denies must not become visible because a string in it is long.
 */
import { mapCooperatively } from '../lib/concurrency/cooperative-yield.ts';
import type { Scope } from './scope.ts';
import { evaluateStoredDocument, isDatabaseFilterExact, isInScope } from './scope-filter.ts';

/** The documents that the Scope reaches, in their order; the same list where the database result is certain. */
export async function filterByScope<T extends Uint8Array>(scope: Scope, found: readonly T[]): Promise<readonly T[]> {
  if (isDatabaseFilterExact(scope)) return found;
  const responses = await mapCooperatively(found, (raw) => evaluateStoredDocument(scope, raw, isInScope));
  return found.filter((_, index) => responses[index]);
}

/**
 * The documents for a page and its cursors: a cursor reveals the sort key of the last one. If none of them is reached,
 * the page is empty and the next one begins after the found documents.
 */
export async function filterPageByScope<T extends Uint8Array>(
  scope: Scope,
  found: { readonly documents: readonly T[]; readonly more?: boolean },
): Promise<{ readonly documents: readonly T[]; readonly more?: boolean }> {
  const documents = await filterByScope(scope, found.documents);
  if (documents.length === found.documents.length || documents.length === 0) return found;
  return { documents, more: true };
}

/** How many of the documents the Scope reaches; reads them batch by batch. */
export async function countInScope(scope: Scope, batches: AsyncIterable<readonly Uint8Array[]>): Promise<number> {
  let count = 0;
  for await (const batch of batches) count += (await filterByScope(scope, batch)).length;
  return count;
}
