/**
 * All groups of a process, found by the key of their answer and by the collection whose rows concern them. Within one
 * collection, collection-groups.ts finds them by the values of a document.
 */
import type { LiveAnswer } from '../answer/live-answer.ts';
import type { RowView } from '../answer/row-view.ts';
import { CollectionGroups } from './collection-groups.ts';
import { Group, type GroupMember } from './group.ts';
import type { IndexKey } from './index-key.ts';

export class GroupIndex {
  /** One answer may have several groups for a while, each at another place in the log. */
  readonly #byKey = new Map<string, Group[]>();
  readonly #byCollection = new Map<string | null, CollectionGroups>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether the index still has the group. */
  has(group: Group): boolean {
    return this.#byKey.get(group.live.key)?.includes(group) === true;
  }

  /** Puts a member into a group with its answer. Makes a new group when no group with that answer suits. */
  join(member: GroupMember, live: LiveAnswer, indexKey: IndexKey | null): Group {
    const known = this.#byKey.get(live.key) ?? [];
    const group = known.find((one) => one.suits(member)) ?? this.#make(known, new Group(live, indexKey, member));
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
    } else if (group.live.payer === member.queue.account) group.live.payBy(other.queue.account);
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

  /** Whether a group is about documents of this collection. */
  follows(collection: string | null): boolean {
    return collection !== null && this.#byCollection.has(collection);
  }

  /** Visits every group that a row concerns, and perhaps some that it does not. */
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
