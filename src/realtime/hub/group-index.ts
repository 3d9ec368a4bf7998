/** All groups of a process: by what they answer, and by the collection whose rows concern them. */

import type { LiveAnswer } from '../answer/live-answer.ts';
import type { RowView } from '../answer/row-view.ts';
import { CollectionGroups } from './collection-groups.ts';
import { Group, type GroupMember } from './group.ts';
import type { IndexKey } from './index-key.ts';

export class GroupIndex {
  /** Of one answer there may be several, which stand at different places for a while. */
  readonly #byKey = new Map<string, Group[]>();
  readonly #byCollection = new Map<string | null, CollectionGroups>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether the group is still followed. */
  has(group: Group): boolean {
    return this.#byKey.get(group.live.key)?.includes(group) === true;
  }

  /** Puts a member into a group of its answer, which is made when there is none that suits. */
  join(member: GroupMember, live: LiveAnswer, handle: IndexKey | null): Group {
    const known = this.#byKey.get(live.key) ?? [];
    const group = known.find((one) => one.suits(member)) ?? this.#make(known, new Group(live, handle, member));
    if (group.live !== live) live.end();
    group.add(member);
    return group;
  }

  #make(known: Group[], group: Group): Group {
    const { key, collection } = group.live;
    known.push(group);
    this.#byKey.set(key, known);
    this.#size += 1;
    const groups = this.#byCollection.get(collection) ?? new CollectionGroups();
    this.#byCollection.set(collection, groups);
    groups.add(group);
    return group;
  }

  leave(group: Group, member: GroupMember): void {
    group.remove(member);
    const [other] = group.members;
    if (other === undefined) {
      this.remove(group);
      group.live.end();
    } else if (group.live.payer === member.outlet.account) group.live.payBy(other.outlet.account);
  }

  remove(group: Group): void {
    if (!this.has(group)) return;
    const { key, collection } = group.live;
    const others = (this.#byKey.get(key) ?? []).filter((one) => one !== group);
    if (others.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, others);
    this.#size -= 1;
    const groups = this.#byCollection.get(collection);
    groups?.remove(group);
    if (groups?.size === 0) this.#byCollection.delete(collection);
  }

  /** Takes all groups out. */
  clear(): Group[] {
    const groups = [...this.#byKey.values()].flat();
    this.#byKey.clear();
    this.#size = 0;
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
