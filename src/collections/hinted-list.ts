/**
 * Lists for requests: returned after their first batch was read, so that an error still has the right status, with
 * hints where the result is probably not the intended one.
 */

import type { CollectionName } from '../database/collection-names.ts';
import { FIRST_BATCH } from '../database/cursors/open-cursor.ts';
import { prependFirst } from '../lib/concurrency/closable-iterator.ts';
import { principalBindings } from '../policies/bindings.ts';
import type { Scope } from '../policies/scope.ts';
import { combineScopeFilters } from '../policies/scope-filter.ts';
import { bindVariables } from '../query/evaluate/bind-variables.ts';
import { coversAllPaths } from '../query/evaluate/fields.ts';
import { pathsInFilter } from '../query/filter.ts';
import type { Query } from '../query/parse/query.ts';
import type { CollectionRegistry } from './collection-registry.ts';
import { collectionNotAvailable } from './document-errors.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { emptyListHints, missingFieldHints, nonEmptyListHints } from './read/hints.ts';
import {
  type DocumentList,
  ListReader,
  type ListReaderDeps,
  MAX_CHECKED_DOCUMENTS,
  missingSortKeys,
} from './read/list-query.ts';
import { SampledFields } from './read/sampled-fields.ts';
import type { MissingIndexHints } from './store/missing-index-hints.ts';

export interface HintedList extends DocumentList {
  /** Hints about a result that is probably not the intended one. */
  readonly hints: readonly string[];
}

export interface ListsWithHintsDeps extends ListReaderDeps {
  readonly registry: CollectionRegistry;
  readonly missingIndexes: MissingIndexHints;
  /** Milliseconds from which a list counts as slow. */
  readonly slowQueryMs: number;
}

/** How a list is read for programs: without hints, which are for people and cost additional reads. */
export interface PlainListOptions {
  /** The transaction whose writes it must see; null outside of one. */
  readonly within: OpenTransaction | null;
}

/** What was found first, and how long that took. */
interface Found extends Pick<DocumentList, 'next' | 'unsorted'> {
  readonly documents: readonly Uint8Array[];
  readonly tookMs: number;
}

export class ListsWithHints {
  readonly #deps: ListsWithHintsDeps;
  readonly #listing: ListReader;
  readonly #fields: SampledFields;

  constructor(deps: ListsWithHintsDeps) {
    this.#deps = deps;
    this.#listing = new ListReader(deps);
    this.#fields = new SampledFields(deps.store);
  }

  /**
   * The documents that match a query.
   * @param plain for a reader without hints
   * @throws MillraceError `resource-not-available` when the collection was never created, and those of {@link
   * Listing.list}
   */
  async list(
    scope: Scope<'read'>,
    name: CollectionName,
    query: Query,
    now: Date,
    plain?: PlainListOptions,
  ): Promise<HintedList> {
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
    const shown = query.sort.filter(({ path }) => query.fields === null || coversAllPaths(query.fields, [path]));
    const found = { documents: batch, next, unsorted: missingSortKeys(batch, shown), tookMs };
    const hints = await this.#hints(scope, name, query, now, found);
    return { ...list, documents: prependFirst(first, documents), hints };
  }

  async #plain(
    scope: Scope<'read'>,
    name: CollectionName,
    query: Query,
    now: Date,
    { within }: PlainListOptions,
  ): Promise<HintedList> {
    const reads = within === null ? this.#deps.store : this.#deps.store.within(within.session);
    const list = await this.#listing.list(scope, name, query, now, reads);
    const isEmpty = 'length' in list.documents && list.documents.length === 0;
    if (isEmpty && within?.created.has(name) !== true && !(await this.#deps.registry.exists(name)))
      throw collectionNotAvailable(name);
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
    if (isEmpty && !(await this.#deps.registry.exists(name))) throw collectionNotAvailable(name);
    const hints: string[] = [];
    if (isEmpty && next === null) hints.push(...(await emptyListHints(this.#fields, scope, name, query, now)));
    if (!isEmpty) hints.push(...nonEmptyListHints(query, documents));
    const lacking = [...unsorted, ...this.#unshown(scope, name, query, documents)];
    if (lacking.length > 0) hints.push(...(await missingFieldHints(this.#fields, scope, name, lacking)));
    // A field that no document has needs no index.
    if (hints.length > 0 || tookMs <= this.#deps.slowQueryMs) return hints;
    const { sort, skip, limit } = query;
    const requested = bindVariables(query.filter, principalBindings(scope.principal, now)).filter;
    const granted = [...scope.grants.map(({ filter }) => filter), scope.denied];
    const paths = new Set([requested, ...granted].flatMap((filter) => [...pathsInFilter(filter)]));
    const filter = combineScopeFilters(requested, scope);
    const goesOn = limit === null && documents.length >= FIRST_BATCH;
    const slow = { name, requested, filter, paths, sort, skip, limit, found: goesOn ? null : documents.length, tookMs };
    return this.#deps.missingIndexes.hints(slow);
  }

  /** The stored paths of requested fields that the first documents of a list lack. */
  #unshown(
    scope: Scope<'read'>,
    name: CollectionName,
    { fields, expand }: Query,
    documents: readonly Uint8Array[],
  ): readonly string[] {
    const shown = fields?.mode === 'include' ? fields.paths : [];
    const requested = new Set([...shown, ...expand.map(({ path }) => path)].filter((path) => !path.startsWith('_')));
    if (requested.size === 0 || documents.length === 0) return [];
    const unknown = this.#fields.unknownFields(scope, name, [...requested]);
    return unknown.length === 0
      ? []
      : this.#fields.rememberFields(scope, name, unknown, documents.slice(0, MAX_CHECKED_DOCUMENTS));
  }
}
