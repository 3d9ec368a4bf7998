/** Finds one document by the id that a client wrote, and creates the right error when there is none. */
import { idCandidates, idFromText } from '../database/json/ids.ts';
import type { CollectionName } from '../database/names.ts';
import { MillraceError } from '../lib/errors.ts';
import { reachedOf } from '../policies/recheck-in-memory.ts';
import type { Scope } from '../policies/scope.ts';
import { databaseDecides, reachesAll, toDatabaseFilter } from '../policies/scope-filter.ts';
import { documentNotFound, notAvailable } from './document-errors.ts';
import type { OpenTransaction } from './open-transaction.ts';
import type { Registry } from './registry.ts';
import { checkPreconditions, type Preconditions } from './store/preconditions.ts';
import type { DocumentStore } from './store/store.ts';

export class Lookup {
  readonly #store: DocumentStore;
  readonly #registry: Registry;

  constructor(store: DocumentStore, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** The raw document, or null when the Scope includes none. */
  async find(scope: Scope, name: CollectionName, id: string, within?: OpenTransaction): Promise<Buffer | null> {
    const found = await this.#found(scope, name, id, within);
    // Nearly always the database's result is certain. Then no list is built, and nothing is awaited.
    if (found === null || databaseDecides(scope)) return found;
    return (await reachedOf(scope, [found]))[0] ?? null;
  }

  /**
   * The raw document in the database. Tries the canonical form of the id first, and the other forms only when that one
   * does not exist.
   */
  async #found(
    scope: Scope,
    name: CollectionName,
    id: string,
    within: OpenTransaction | undefined,
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
  async missing(
    scope: Scope,
    name: CollectionName,
    id: string,
    preconditions?: Preconditions,
    within?: OpenTransaction,
  ): Promise<Error> {
    const { reader } = scope;
    if (reader !== null && !reachesAll(scope) && (await this.find(reader, name, id, within)) !== null) {
      return new MillraceError('forbidden', `No policy allows you to ${scope.action} this document`);
    }
    if (!within?.created.has(name) && !(await this.#registry.exists(name))) return notAvailable(name);
    if (preconditions) checkPreconditions(preconditions, null);
    return documentNotFound(name, id);
  }
}
