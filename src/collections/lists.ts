/**
 * Lists as requests get them: after their first batch was read, so that an error still has a proper status, and with
 * hints where the answer is probably not what was meant. Not here: how a list is read (read/listing.ts).
 */
import { FIRST_BATCH } from '../database/cursors/open-cursor.ts';
import type { CollectionName } from '../database/names.ts';
import { resume } from '../kernel/concurrency/closable-iterator.ts';
import { bindingsOf } from '../policies/bindings.ts';
import { joinedFilter } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';
import { bind } from '../query/evaluate/bind.ts';
import { coversAll } from '../query/evaluate/fields.ts';
import { pathsOf } from '../query/filter.ts';
import type { Query } from '../query/parse/query.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { hintsForEmpty, hintsForFound, hintsForLacking } from './read/hints.ts';
import { keysOfNone, type List, Listing, type ListingParts, MAX_LOOKED_AT } from './read/listing.ts';
import { ShownMembers } from './read/shown-members.ts';
import { notAvailable } from './refusals.ts';
import type { Registry } from './registry.ts';
import type { MissingIndexes } from './store/missing-indexes.ts';

export interface HintedList extends List {
  /** Sentences about an answer that is probably not what was meant. */
  readonly hints: readonly string[];
}

export interface ListsParts extends ListingParts {
  readonly registry: Registry;
  readonly missingIndexes: MissingIndexes;
  /** A list that takes longer counts as slow, in milliseconds. */
  readonly slowListMs: number;
}

/** How a list is read for a program: without hints, which are for people and cost reads of their own. */
export interface Plain {
  /** The transaction whose writes it must see; null outside of one. */
  readonly within: OpenTransaction | null;
}

/** What was found first, and how long that took. */
interface Found extends Pick<List, 'next' | 'unsorted'> {
  readonly documents: readonly Uint8Array[];
  readonly tookMs: number;
}

export class Lists {
  readonly #parts: ListsParts;
  readonly #listing: Listing;
  readonly #members: ShownMembers;

  constructor(parts: ListsParts) {
    this.#parts = parts;
    this.#listing = new Listing(parts);
    this.#members = new ShownMembers(parts.store);
  }

  /**
   * The documents that a query finds.
   * @param plain for a reader that takes no hints
   * @throws MillraceError `resource-not-available` when the collection was never created, and those of
   *   {@link Listing.list}
   */
  async list(scope: Scope<'read'>, name: CollectionName, query: Query, now: Date, plain?: Plain): Promise<HintedList> {
    if (plain !== undefined) return this.#plain(scope, name, query, now, plain);
    const begun = performance.now();
    const list = await this.#listing.list(scope, name, query, now);
    const { documents, next, unsorted } = list;
    if (!('next' in documents)) {
      const found = { documents, next, unsorted, tookMs: performance.now() - begun };
      return { ...list, hints: await this.#hints(scope, name, query, now, found) };
    }
    const first = await documents.next();
    const tookMs = performance.now() - begun;
    const batch = first.done ? [] : first.value;
    const shown = query.sort.filter(({ path }) => query.fields === null || coversAll(query.fields, [path]));
    const found = { documents: batch, next, unsorted: keysOfNone(batch, shown), tookMs };
    const hints = await this.#hints(scope, name, query, now, found);
    return { ...list, documents: resume(first, documents), hints };
  }

  async #plain(
    scope: Scope<'read'>,
    name: CollectionName,
    query: Query,
    now: Date,
    { within }: Plain,
  ): Promise<HintedList> {
    const reads = within === null ? this.#parts.store : this.#parts.store.within(within.session);
    const list = await this.#listing.list(scope, name, query, now, reads);
    const isEmpty = 'length' in list.documents && list.documents.length === 0;
    if (isEmpty && within?.made.has(name) !== true && !(await this.#parts.registry.exists(name)))
      throw notAvailable(name);
    return { ...list, hints: [] };
  }

  async #hints(
    scope: Scope<'read'>,
    name: CollectionName,
    query: Query,
    now: Date,
    found: Found,
  ): Promise<readonly string[]> {
    const { documents, next, unsorted, tookMs } = found;
    const isEmpty = documents.length === 0;
    if (isEmpty && !(await this.#parts.registry.exists(name))) throw notAvailable(name);
    const hints: string[] = [];
    if (isEmpty && next === null) hints.push(...(await hintsForEmpty(this.#members, scope, name, query, now)));
    if (!isEmpty) hints.push(...hintsForFound(query, documents));
    const lacking = [...unsorted, ...this.#unshown(scope, name, query, documents)];
    if (lacking.length > 0) hints.push(...(await hintsForLacking(this.#members, scope, name, lacking)));
    // A member that no document has needs no index.
    if (hints.length > 0 || tookMs <= this.#parts.slowListMs) return hints;
    const { sort, skip, limit } = query;
    const asked = bind(query.filter, bindingsOf(scope.principal, now)).filter;
    const granted = [...scope.grants.map(({ filter }) => filter), scope.denied];
    const paths = new Set([asked, ...granted].flatMap((filter) => [...pathsOf(filter)]));
    const filter = joinedFilter(asked, scope);
    const goesOn = limit === null && documents.length >= FIRST_BATCH;
    const slow = { name, asked, filter, paths, sort, skip, limit, found: goesOn ? null : documents.length, tookMs };
    return this.#parts.missingIndexes.hints(slow);
  }

  /** The stored paths of wanted members that the first documents of a list lack. */
  #unshown(
    scope: Scope<'read'>,
    name: CollectionName,
    { fields, expand }: Query,
    documents: readonly Uint8Array[],
  ): readonly string[] {
    const shown = fields?.mode === 'include' ? fields.paths : [];
    const wanted = new Set([...shown, ...expand.map(({ path }) => path)].filter((path) => !path.startsWith('_')));
    if (wanted.size === 0 || documents.length === 0) return [];
    const unknown = this.#members.unknown(scope, name, [...wanted]);
    return unknown.length === 0 ? [] : this.#members.learn(scope, name, unknown, documents.slice(0, MAX_LOOKED_AT));
  }
}
