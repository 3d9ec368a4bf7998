/** Subscriptions with the same live result, which is updated once, and each message encoded once, for all of them. */
import type { Timestamp } from 'mongodb';
import type { LogRow } from '../../events/log/log-row.ts';
import type { LiveResult } from '../result/live-result-interface.ts';
import type { ResetReason } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { SubscriptionMessage } from '../wire/shared-message.ts';
import type { FilterIndexKey } from './filter-index-key.ts';

/** The part of a subscription that a group and the log reader use. */
export interface SubscriptionGroupMember {
  /** Its id from the client; null on a stream, which has only one subscription. */
  readonly id: string | null;
  readonly queue: SendQueue;
  /** Rows up to this number have been sent. */
  readonly after: number;
  /** The cluster time of its snapshot, which contains all changes until then. Null after a later change. */
  until: Timestamp | null;
  /** Its collection, if that did not exist when the snapshot was read; null after a row has created or dropped it. */
  absent: string | null;
  /** Called when its result is invalid. It has then left its group. */
  reset(reason: ResetReason): void;
  /**
   * Called when its client cannot receive more at present, or its filter takes too much time of the batch. It leaves
   * its group and reads the log by itself.
   * @param reported the number of the last row that it has received in this batch; 0 for none
   */
  lag(reported: number): void;
}

/** The log position of a subscription. */
type LogCursor = Pick<SubscriptionGroupMember, 'after' | 'until' | 'absent'>;

function isBehind({ after, until, absent }: LogCursor, row: LogRow): boolean {
  if (row.number <= after || (until !== null && row.time.lessThanOrEqual(until))) return false;
  // The collection did not exist when the snapshot was read, so the snapshot has no cluster time. Only rows that create
  // or drop the collection can be compared with it.
  return absent === null || makesOrDrops(row, absent);
}

function makesOrDrops({ operation, collection, to }: LogRow, name: string): boolean {
  if (operation === 'create' || operation === 'drop') return collection === name;
  if (operation === 'rename') return collection === name || to === name;
  return operation === 'dropDatabase' || operation === 'gap';
}

/** True if the subscription has the row already. Otherwise its snapshot is obsolete and cleared. */
export function hasReceivedRow(member: LogCursor, row: LogRow): boolean {
  if (!isBehind(member, row)) return true;
  member.until = null;
  member.absent = null;
  return false;
}

export class SubscriptionGroup {
  readonly live: LiveResult;
  readonly indexKey: FilterIndexKey | null;
  readonly members = new Set<SubscriptionGroupMember>();
  /** Subscriptions whose snapshot may have been newer than the result when they joined. */
  readonly #ahead = new Set<SubscriptionGroupMember>();
  /** The log position of the result when the group was created. */
  readonly #logCursor: LogCursor;

  /** @param stand the log position of the first subscription, which brings the result */
  constructor(live: LiveResult, indexKey: FilterIndexKey | null, { after, until, absent }: LogCursor) {
    this.live = live;
    this.indexKey = indexKey;
    this.#logCursor = { after, until, absent };
  }

  /**
   * True if a new subscription can share this group's result. It cannot if the result's window already includes a
   * change that the subscription has not received yet.
   */
  suits({ after, until, absent }: LogCursor): boolean {
    if (!this.live.isStateful) return true;
    const logCursor = this.#logCursor;
    if (logCursor.after > after || (logCursor.absent !== null && absent === null)) return false;
    return logCursor.until === null || until?.greaterThanOrEqual(logCursor.until) === true;
  }

  add(member: SubscriptionGroupMember): void {
    this.members.add(member);
    if (this.live.isStateful) this.#ahead.add(member);
  }

  remove(member: SubscriptionGroupMember): void {
    this.members.delete(member);
    this.#ahead.delete(member);
  }

  /** True if some subscription's snapshot lies between `row` and `next`: it contains the first but not the second. */
  parts(row: LogRow, next: LogRow): boolean {
    let parted = false;
    for (const member of this.#ahead) {
      if (isBehind(member, row)) this.#ahead.delete(member);
      else if (isBehind(member, next)) parted = true;
    }
    return parted;
  }

  /** True if the result includes a row already. */
  has(row: LogRow): boolean {
    return this.live.isStateful && hasReceivedRow(this.#logCursor, row);
  }
}

/** Pushes messages about one row to the send queue of a subscription. */
export function queueMessages(member: SubscriptionGroupMember, reported: readonly SubscriptionMessage[]): void {
  const { id, queue } = member;
  for (const one of reported) {
    const { created } = one;
    const bytes = id === null ? one.chunk() : one.frame(id);
    queue.push(bytes, one.created - created);
    if (id !== null && one.tail !== null) queue.push(one.tail, 0);
  }
}

/**
 * Whether messages can be pushed to a client in this turn. Messages already encoded for other clients take no more
 * memory, so they are pushed even if the memory budget of this client is exhausted.
 */
export function hasQueueRoom({ queue }: SubscriptionGroupMember, reported: readonly SubscriptionMessage[]): boolean {
  if (!queue.hasRoom) return false;
  for (const { created } of reported) if (created === 0) return queue.account.hasRoom(0);
  return true;
}

/** Ends the result of a group and resets all of its subscriptions. */
export function resetGroup(group: SubscriptionGroup, reason: ResetReason): void {
  const members = [...group.members];
  group.members.clear();
  group.live.end();
  for (const member of members) member.reset(reason);
}
