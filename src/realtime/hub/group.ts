/**
 * Subscriptions with the same answer. The answer is kept up to date once, and each message is encoded once for all of
 * them. Not here: which group a subscription joins (group-index.ts).
 */
import type { Timestamp } from 'mongodb';
import type { LogRow } from '../../events/log/row.ts';
import type { LiveAnswer } from '../answer/live-answer.ts';
import type { ResetReason } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { Told } from '../wire/shared-message.ts';
import type { IndexKey } from './index-key.ts';

/** What a group, and the code that reads the log for one subscription, know of that subscription. */
export interface GroupMember {
  /** The name that its client gave it; null on a stream, which has only one subscription. */
  readonly id: string | null;
  readonly queue: SendQueue;
  /** Rows up to this number have been sent. */
  readonly after: number;
  /** The cluster time of its snapshot, which holds all changes up to then. Null once a later change has come. */
  until: Timestamp | null;
  /** Its collection, if that did not exist when the snapshot was read; null once a row has created or dropped it. */
  absent: string | null;
  /** Called when its answer is void. It is no longer a member of a group then. */
  reset(reason: ResetReason): void;
  /**
   * Called when its client takes no more at present, or its filter takes too much time of the batch. It leaves its
   * group and reads on from the log by itself.
   * @param told the number of the last row that it has been sent in this batch; 0 for none
   */
  lag(told: number): void;
}

/** How far along the log a subscription is. */
type Stand = Pick<GroupMember, 'after' | 'until' | 'absent'>;

function isBehind({ after, until, absent }: Stand, row: LogRow): boolean {
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

/** True if the subscription has the row already. Otherwise its snapshot is no longer of interest and is forgotten. */
export function knows(member: Stand, row: LogRow): boolean {
  if (!isBehind(member, row)) return true;
  member.until = null;
  member.absent = null;
  return false;
}

export class Group {
  readonly live: LiveAnswer;
  readonly indexKey: IndexKey | null;
  readonly members = new Set<GroupMember>();
  /** Members whose snapshot may have been newer than the answer when they joined. */
  readonly #ahead = new Set<GroupMember>();
  /** Where the answer was in the log when the group was made. */
  readonly #stand: Stand;

  /** @param stand where the first member, which brings the answer, is in the log */
  constructor(live: LiveAnswer, indexKey: IndexKey | null, { after, until, absent }: Stand) {
    this.live = live;
    this.indexKey = indexKey;
    this.#stand = { after, until, absent };
  }

  /**
   * True if a new subscription can share this group's answer. It cannot if the answer's window already includes a
   * change that the subscription has not received yet.
   */
  suits({ after, until, absent }: Stand): boolean {
    if (!this.live.remembers) return true;
    const stand = this.#stand;
    if (stand.after > after || (stand.absent !== null && absent === null)) return false;
    return stand.until === null || until?.greaterThanOrEqual(stand.until) === true;
  }

  add(member: GroupMember): void {
    this.members.add(member);
    if (this.live.remembers) this.#ahead.add(member);
  }

  remove(member: GroupMember): void {
    this.members.delete(member);
    this.#ahead.delete(member);
  }

  /** True if the snapshot of some member lies between `row` and `next`: it holds the one and not the other. */
  parts(row: LogRow, next: LogRow): boolean {
    let parted = false;
    for (const member of this.#ahead) {
      if (isBehind(member, row)) this.#ahead.delete(member);
      else if (isBehind(member, next)) parted = true;
    }
    return parted;
  }

  /** True if the answer includes a row already. */
  has(row: LogRow): boolean {
    return this.live.remembers && knows(this.#stand, row);
  }
}

/** Pushes messages about one row to the send queue of a member. */
export function tell(member: GroupMember, told: readonly Told[]): void {
  const { id, queue } = member;
  for (const one of told) {
    const { made } = one;
    const bytes = id === null ? one.chunk() : one.frame(id);
    queue.push(bytes, one.made - made);
    if (id !== null && one.tail !== null) queue.push(one.tail, 0);
  }
}

/**
 * Whether messages can be pushed to a client in this turn. Messages that were encoded for other clients already take no
 * more memory, so they are pushed even when the account of this client is full.
 */
export function hasRoom({ queue }: GroupMember, told: readonly Told[]): boolean {
  if (!queue.hasRoom) return false;
  for (const { made } of told) if (made === 0) return queue.account.hasRoom(0);
  return true;
}

/** Ends the answer of a group and resets all of its members. */
export function resetAll(group: Group, reason: ResetReason): void {
  const members = [...group.members];
  group.members.clear();
  group.live.end();
  for (const member of members) member.reset(reason);
}
