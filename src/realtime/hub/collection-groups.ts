/**
 * The groups of one collection, indexed by the values of a changed document. A group with an index key is looked up;
 * only the groups without one are visited for every row.
 */
import type { RowView } from '../result/row-view.ts';
import type { Group } from './group.ts';
import type { IndexKey } from './index-key.ts';
import { PathIndex } from './path-index.ts';

export class CollectionGroups {
  readonly #others = new Set<Group>();
  readonly #byPath = new Map<string, PathIndex>();
  readonly #indexKeys = new Map<Group, IndexKey | null>();

  get size(): number {
    return this.#indexKeys.size;
  }

  add(group: Group): void {
    const { indexKey } = group;
    this.#indexKeys.set(group, indexKey);
    if (indexKey === null) {
      this.#others.add(group);
      return;
    }
    const index = this.#byPath.get(indexKey.path) ?? new PathIndex(indexKey.path);
    this.#byPath.set(indexKey.path, index);
    index.add(indexKey, group);
  }

  remove(group: Group): void {
    const indexKey = this.#indexKeys.get(group);
    this.#indexKeys.delete(group);
    this.#others.delete(group);
    if (!indexKey) return;
    const index = this.#byPath.get(indexKey.path);
    index?.remove(indexKey, group);
    if (index?.size === 0) this.#byPath.delete(indexKey.path);
  }

  /** Visits every group. */
  all(visit: (group: Group) => void): void {
    for (const group of this.#indexKeys.keys()) visit(group);
  }

  /** Visits every group that a row affects, and perhaps some that it does not. */
  concerned(view: RowView, visit: (group: Group) => void): void {
    const { row } = view;
    // The old state is unknown, and with it the groups whose result contained the document.
    if (row.key === null || (row.before === null && row.operation !== 'insert')) {
      this.all(visit);
      return;
    }
    for (const group of this.#others) visit(group);
    if (this.#byPath.size === 0) return;
    const found = new Set<Group>();
    for (const index of this.#byPath.values()) {
      if (view.before !== null) index.find(view.before, found);
      if (view.after !== null) index.find(view.after, found);
    }
    for (const group of found) visit(group);
  }
}
