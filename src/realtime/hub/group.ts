/** Subscriptions with one and the same answer: it is followed once, and every message is made once for all of them. */
import type { Timestamp } from 'mongodb';
import type { LogRow } from '../../events/log/row.ts';
import type { LiveAnswer } from '../answer/live-answer.ts';
import type { ResetReason } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { Told } from '../wire/shared-message.ts';
import type { IndexKey } from './index-key.ts';

/** What a group, and who follows the log for a subscription, know of it. */
export interface GroupMember {
  /** The name its client gave it; null on a stream, which has only one. */
  readonly id: string | null;
  readonly outlet: SendQueue;
  /** Rows up to this number have been told. */
  readonly after: number;
  /** Changes up to this cluster time were in its snapshot. Null once one behind it has come. */
  until: Timestamp | null;
  /** Its collection, if that was not there when it was read: it hears of it from its being made, or dropped, on. */
  absent: string | null;
  /** Its answer is void; it is no member of a group any more. */
  reset(reason: ResetReason): void;
  /**
   * Its client takes no more now, or its question takes the others too long: it leaves its group, to read on from the log.
   * @param told the number of the last row that it has been told of meanwhile; 0 for none
   */
  lag(told: number): void;
}

/** How far somebody is along the log. */
type Stand = Pick<GroupMember, 'after' | 'until' | 'absent'>;

function isBehind({ after, until, absent }: Stand, row: LogRow): boolean {
  if (row.number <= after || (until !== null && row.time.lessThanOrEqual(until))) return false;
  // Changes of documents that were gone when it was read; by which moment nobody knows.
  return absent === null || makesOrDrops(row, absent);
}

function makesOrDrops({ operation, collection, to }: LogRow, name: string): boolean {
  if (operation === 'create' || operation === 'drop') return collection === name;
  if (operation === 'rename') return collection === name || to === name;
  return operation === 'dropDatabase' || operation === 'gap';
}

/** Whether a subscription has a row already. */
export function knows(member: Stand, row: LogRow): boolean {
  if (!isBehind(member, row)) return true;
  member.until = null;
  member.absent = null;
  return false;
}

export class Group {
  readonly live: LiveAnswer;
  readonly handle: IndexKey | null;
  readonly members = new Set<GroupMember>();
  /** Members who may have been ahead of the answer when they came. */
  readonly #ahead = new Set<GroupMember>();
  /** Where the answer stood when the group was made. */
  readonly #stand: Stand;

  /** @param first whose answer it goes on with */
  constructor(live: LiveAnswer, handle: IndexKey | null, { after, until, absent }: Stand) {
    this.live = live;
    this.handle = handle;
    this.#stand = { after, until, absent };
  }

  /** Whether somebody can join: the answer must not hold a row already that the newcomer still has to be told. */
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

  /** Whether a member has the one of two successive rows already, and not the other. */
  parts(row: LogRow, next: LogRow): boolean {
    let parted = false;
    for (const member of this.#ahead) {
      if (isBehind(member, row)) this.#ahead.delete(member);
      else if (isBehind(member, next)) parted = true;
    }
    return parted;
  }

  /** Whether the answer stands behind a row already. */
  has(row: LogRow): boolean {
    return this.live.remembers && knows(this.#stand, row);
  }
}

/** Hands messages about one row to a member. */
export function tell(member: GroupMember, told: readonly Told[]): void {
  const { id, outlet } = member;
  for (const one of told) {
    const { made } = one;
    const bytes = id === null ? one.chunk() : one.frame(id);
    outlet.push(bytes, one.made - made);
    if (id !== null && one.tail !== null) outlet.push(one.tail, 0);
  }
}
