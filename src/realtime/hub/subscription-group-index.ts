/**
 * All groups of a process, indexed by the key of their result and by collection. Within one collection,
 * collection-subscription-groups.ts finds them by the values of a document.
 */
import type { LiveResult } from '../result/live-result-interface.ts';
import type { LogRowView } from '../result/log-row-view.ts';
import { CollectionSubscriptionGroups } from './collection-subscription-groups.ts';
import type { FilterIndexKey } from './filter-index-key.ts';
import { SubscriptionGroup, type SubscriptionGroupMember } from './subscription-group.ts';

export class SubscriptionGroupIndex {
  /** One result may temporarily have several groups, each at another log position. */
  readonly #byKey = new Map<string, SubscriptionGroup[]>();
  readonly #byCollection = new Map<string | null, CollectionSubscriptionGroups>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether the index still contains the group. */
  has(group: SubscriptionGroup): boolean {
    return this.#byKey.get(group.live.key)?.includes(group) === true;
  }

  /** Adds a subscription with its result to a group. Creates a group if no group with that result fits. */
  join(member: SubscriptionGroupMember, live: LiveResult, indexKey: FilterIndexKey | null): SubscriptionGroup {
    const known = this.#byKey.get(live.key) ?? [];
    const group =
      known.find((one) => one.suits(member)) ?? this.#make(known, new SubscriptionGroup(live, indexKey, member));
    if (group.live !== live) live.end();
    group.add(member);
    return group;
  }

  #make(known: SubscriptionGroup[], group: SubscriptionGroup): SubscriptionGroup {
    const { key, collection } = group.live;
    known.push(group);
    this.#byKey.set(key, known);
    this.#size += 1;
    const groups = this.#byCollection.get(collection) ?? new CollectionSubscriptionGroups();
    this.#byCollection.set(collection, groups);
    groups.add(group);
    return group;
  }

  leave(group: SubscriptionGroup, member: SubscriptionGroupMember): void {
    group.remove(member);
    const [other] = group.members;
    if (other === undefined) {
      this.remove(group);
      group.live.end();
    } else if (group.live.memoryAccount === member.queue.account) group.live.chargeTo(other.queue.account);
  }

  remove(group: SubscriptionGroup): void {
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

  /** Removes all groups. */
  clear(): SubscriptionGroup[] {
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

  /** Visits every group that a row affects, and perhaps some that it does not. */
  concerned(view: LogRowView, visit: (group: SubscriptionGroup) => void): void {
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
