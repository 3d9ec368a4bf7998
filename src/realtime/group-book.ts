/** All groups of a process: by what they answer, and by the collection whose rows concern them. */
import { Group, type Member } from './group.ts';
import { Groups } from './groups.ts';
import type { Handle } from './handle.ts';
import type { Live } from './live.ts';
import type { RowView } from './row-view.ts';

export class GroupBook {
  readonly #byKey = new Map<string, Group>();
  readonly #byCollection = new Map<string | null, Groups>();

  get size(): number {
    return this.#byKey.size;
  }

  /** Whether the group is still followed. */
  has(group: Group): boolean {
    return this.#byKey.get(group.live.key) === group;
  }

  /** Puts a member into the group of its answer, which is made when there is none. */
  join(member: Member, live: Live, handle: Handle | null): Group {
    const known = this.#byKey.get(live.key);
    const group = known ?? new Group(live, handle, member);
    if (known === undefined) {
      this.#byKey.set(live.key, group);
      const groups = this.#byCollection.get(live.collection) ?? new Groups();
      this.#byCollection.set(live.collection, groups);
      groups.add(group);
    }
    group.add(member);
    return group;
  }

  leave(group: Group, member: Member): void {
    group.remove(member);
    if (group.members.size === 0) this.remove(group);
  }

  remove(group: Group): void {
    if (!this.has(group)) return;
    const { key, collection } = group.live;
    this.#byKey.delete(key);
    const groups = this.#byCollection.get(collection);
    groups?.remove(group);
    if (groups?.size === 0) this.#byCollection.delete(collection);
  }

  /** Takes all groups out. */
  clear(): Group[] {
    const groups = [...this.#byKey.values()];
    this.#byKey.clear();
    this.#byCollection.clear();
    return groups;
  }

  /** Visits the groups that a row may concern. */
  concerned(view: RowView, visit: (group: Group) => void): void {
    const { collection, operation, to } = view.row;
    this.#byCollection.get(null)?.all(visit);
    if (operation === 'gap' || operation === 'dropDatabase') {
      for (const [name, groups] of this.#byCollection) if (name !== null) groups.all(visit);
      return;
    }
    if (collection !== null) this.#byCollection.get(collection)?.concerned(view, visit);
    if (operation === 'rename' && to !== null) this.#byCollection.get(to)?.all(visit);
  }
}
