/** Finds one document by the id that a client wrote, and creates the right error when there is none. */

import { idCandidates, idFromText } from '../database/json/ids.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';
import { MillraceError } from '../lib/errors.ts';
import { filterByScope } from '../policies/recheck-in-memory.ts';
import type { Scope } from '../policies/scope.ts';
import { includesAllDocuments, isDatabaseFilterExact, toDatabaseFilter } from '../policies/scope-filter.ts';
import type { CollectionRegistry } from './collection-registry.ts';
import { collectionNotAvailable, documentNotFound } from './document-errors.ts';
import type { TransactionContext } from './open-transaction.ts';
import { checkPreconditions, type Preconditions } from './store/preconditions.ts';
import type { DocumentStore } from './store/store.ts';

export class DocumentLookup {
  readonly #store: DocumentStore;
  readonly #registry: CollectionRegistry;

  constructor(store: DocumentStore, registry: CollectionRegistry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** The raw document, or null when the Scope includes none. */
  async find(scope: Scope, name: CollectionName, id: string, within?: TransactionContext): Promise<Buffer | null> {
    const found = await this.#found(scope, name, id, within);
    // Nearly always the database's result is certain. Then no list is built, and nothing is awaited.
    if (found === null || isDatabaseFilterExact(scope)) return found;
    return (await filterByScope(scope, [found]))[0] ?? null;
  }

  /**
   * The raw document in the database. Tries the canonical form of the id first, and the other forms only when that one
   * does not exist.
   */
  async #found(
    scope: Scope,
    name: CollectionName,
    id: string,
    within: TransactionContext | undefined,
  ): Promise<Buffer | null> {
    const filter = toDatabaseFilter(scope);
    const canonical = await this.#store.find(name, idFromText(id), filter, within?.session);
    if (canonical !== null) return canonical;
    for (const candidate of idCandidates(id)) {
      const found = await this.#store.find(name, candidate, filter, within?.session);
      if (found !== null) return found;
    }
    return null;
  }

  /**
   * The error for a document that was not found. If the client can read the document, the error says that it cannot
   * write it.
   * @throws MillraceError `precondition-failed` when a precondition requires an existing one
   */
  async notFoundError(
    scope: Scope,
    name: CollectionName,
    id: string,
    preconditions?: Preconditions,
    within?: TransactionContext,
  ): Promise<Error> {
    const { reader } = scope;
    if (reader !== null && !includesAllDocuments(scope) && (await this.find(reader, name, id, within)) !== null) {
      return new MillraceError('forbidden', `No policy allows you to ${scope.action} this document`);
    }
    if (!within?.created.has(name) && !(await this.#registry.exists(name))) return collectionNotAvailable(name);
    if (preconditions) checkPreconditions(preconditions, null);
    return documentNotFound(name, id);
  }
}
