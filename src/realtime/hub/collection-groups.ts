/**
 * The groups of one collection, found by the values of a changed document: a group that has a handle is looked up, only
 * the others are asked one by one.
 */

import type { RowView } from '../answer/row-view.ts';
import type { Group } from './group.ts';
import type { IndexKey } from './index-key.ts';
import { PathIndex } from './path-index.ts';

export class CollectionGroups {
  readonly #others = new Set<Group>();
  readonly #byPath = new Map<string, PathIndex>();
  readonly #handles = new Map<Group, IndexKey | null>();

  get size(): number {
    return this.#handles.size;
  }

  add(group: Group): void {
    const { handle } = group;
    this.#handles.set(group, handle);
    if (handle === null) {
      this.#others.add(group);
      return;
    }
    const index = this.#byPath.get(handle.path) ?? new PathIndex(handle.path);
    this.#byPath.set(handle.path, index);
    index.add(handle, group);
  }

  remove(group: Group): void {
    const handle = this.#handles.get(group);
    this.#handles.delete(group);
    this.#others.delete(group);
    if (!handle) return;
    const index = this.#byPath.get(handle.path);
    index?.remove(handle, group);
    if (index?.size === 0) this.#byPath.delete(handle.path);
  }

  /** Visits every group. */
  all(visit: (group: Group) => void): void {
    for (const group of this.#handles.keys()) visit(group);
  }

  /** Visits the groups that a row may concern; some of them may turn out not to be. */
  concerned(view: RowView, visit: (group: Group) => void): void {
    const { row } = view;
    // Without a state before nobody knows what the document was found by.
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
