/**
 * The groups of one collection, indexed by the values of a changed document. A group with an index key is looked up;
 * only the groups without one are visited for every row.
 */
import type { LogRowView } from '../result/log-row-view.ts';
import { FieldPathIndex } from './field-path-index.ts';
import type { FilterIndexKey } from './filter-index-key.ts';
import type { SubscriptionGroup } from './subscription-group.ts';

export class CollectionSubscriptionGroups {
  readonly #others = new Set<SubscriptionGroup>();
  readonly #byPath = new Map<string, FieldPathIndex>();
  readonly #indexKeys = new Map<SubscriptionGroup, FilterIndexKey | null>();

  get size(): number {
    return this.#indexKeys.size;
  }

  add(group: SubscriptionGroup): void {
    const { indexKey } = group;
    this.#indexKeys.set(group, indexKey);
    if (indexKey === null) {
      this.#others.add(group);
      return;
    }
    const index = this.#byPath.get(indexKey.path) ?? new FieldPathIndex(indexKey.path);
    this.#byPath.set(indexKey.path, index);
    index.add(indexKey, group);
  }

  remove(group: SubscriptionGroup): void {
    const indexKey = this.#indexKeys.get(group);
    this.#indexKeys.delete(group);
    this.#others.delete(group);
    if (!indexKey) return;
    const index = this.#byPath.get(indexKey.path);
    index?.remove(indexKey, group);
    if (index?.size === 0) this.#byPath.delete(indexKey.path);
  }

  /** Visits every group. */
  all(visit: (group: SubscriptionGroup) => void): void {
    for (const group of this.#indexKeys.keys()) visit(group);
  }

  /** Visits every group that a row affects, and perhaps some that it does not. */
  concerned(view: LogRowView, visit: (group: SubscriptionGroup) => void): void {
    const { row } = view;
    // The old state is unknown, and with it the groups whose result contained the document.
    if (row.key === null || (row.before === null && row.operation !== 'insert')) {
      this.all(visit);
      return;
    }
    for (const group of this.#others) visit(group);
    if (this.#byPath.size === 0) return;
    const found = new Set<SubscriptionGroup>();
    for (const index of this.#byPath.values()) {
      if (view.before !== null) index.find(view.before, found);
      if (view.after !== null) index.find(view.after, found);
    }
    for (const group of found) visit(group);
  }
}
