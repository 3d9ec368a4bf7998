/**
 * Lists as requests get them: after their first batch was read, so that an error still has a proper status, and with
 * hints where the answer is probably not what was meant. Not here: how a list is read (read/listing.ts).
 */
import type { CollectionName } from '../database/names.ts';
import { resume } from '../kernel/concurrency/closable-iterator.ts';
import type { Scope } from '../policies/scope.ts';
import { coversAll } from '../query/evaluate/fields.ts';
import type { Query } from '../query/parse/query.ts';
import { hintsForEmpty, hintsForUnsorted } from './read/hints.ts';
import { keysOfNone, type List, Listing, type ListingParts } from './read/listing.ts';
import { ShownMembers } from './read/shown-members.ts';
import { notAvailable } from './refusals.ts';
import type { Registry } from './registry.ts';

export interface HintedList extends List {
  /** Sentences about an answer that is probably not what was meant. */
  readonly hints: readonly string[];
}

export interface ListsParts extends ListingParts {
  readonly registry: Registry;
}

export class Lists {
  readonly #registry: Registry;
  readonly #listing: Listing;
  readonly #members: ShownMembers;

  constructor(parts: ListsParts) {
    this.#registry = parts.registry;
    this.#listing = new Listing(parts);
    this.#members = new ShownMembers(parts.store);
  }

  /**
   * The documents that a query finds.
   * @throws MillraceError `resource-not-available` when the collection was never created, and those of
   *   {@link Listing.list}
   */
  async list(scope: Scope, name: CollectionName, query: Query, now: Date): Promise<HintedList> {
    const list = await this.#listing.list(scope, name, query, now);
    const { documents } = list;
    if (!('next' in documents)) {
      return { ...list, hints: await this.#hints(scope, name, query, now, documents, list) };
    }
    const first = await documents.next();
    const found = first.done ? [] : first.value;
    const shown = query.sort.filter(({ path }) => query.fields === null || coversAll(query.fields, [path]));
    const told = { next: null, unsorted: keysOfNone(found, shown) };
    const hints = await this.#hints(scope, name, query, now, found, told);
    return { ...list, documents: resume(first, documents), hints };
  }

  async #hints(
    scope: Scope,
    name: CollectionName,
    query: Query,
    now: Date,
    found: readonly Uint8Array[],
    { next, unsorted }: Pick<List, 'next' | 'unsorted'>,
  ): Promise<readonly string[]> {
    if (found.length === 0) {
      if (!(await this.#registry.exists(name))) throw notAvailable(name);
      return next !== null ? [] : hintsForEmpty(this.#members, scope, name, query, now);
    }
    return unsorted.length === 0 ? [] : hintsForUnsorted(this.#members, scope, name, unsorted);
  }
}
