/** Subscriptions with one and the same answer: it is followed once, and every message is made once for all of them. */
import type { Timestamp } from 'mongodb';
import type { LogRow } from '../events/row.ts';
import type { Told } from './change.ts';
import type { Handle } from './handle.ts';
import type { Live } from './live.ts';
import type { Outlet } from './outlet.ts';
import type { ResetReason } from './protocol.ts';

/** What a group, and who follows the log for a subscription, know of it. */
export interface Member {
  /** The name its client gave it; null on a stream, which has only one. */
  readonly id: string | null;
  readonly outlet: Outlet;
  /** Rows up to this number have been told. */
  readonly after: number;
  /** Changes up to this cluster time were in its snapshot. Null once one behind it has come. */
  until: Timestamp | null;
  /** Its answer is void; it is no member of a group any more. */
  reset(reason: ResetReason): void;
}

/** Whether a subscription has a row already. */
export function knows(member: Member, row: LogRow): boolean {
  if (row.number <= member.after) return true;
  if (member.until === null) return false;
  if (row.time.lessThanOrEqual(member.until)) return true;
  member.until = null;
  return false;
}

export class Group {
  readonly live: Live;
  readonly handle: Handle | null;
  readonly members = new Set<Member>();
  /** Members whose snapshot was ahead of the log when they came. */
  readonly #ahead = new Set<Member>();
  /** Where the answer stood when the group was made. */
  readonly #after: number;
  #until: Timestamp | null;

  /** @param first whose answer it goes on with */
  constructor(live: Live, handle: Handle | null, first: Pick<Member, 'after' | 'until'>) {
    this.live = live;
    this.handle = handle;
    this.#after = first.after;
    this.#until = first.until;
  }

  add(member: Member): void {
    this.members.add(member);
    if (member.until !== null) this.#ahead.add(member);
  }

  remove(member: Member): void {
    this.members.delete(member);
    this.#ahead.delete(member);
  }

  /** Whether a member has the one of two successive rows already, and not the other. */
  parts(row: LogRow, next: LogRow): boolean {
    let parted = false;
    for (const member of this.#ahead) {
      const { until } = member;
      if (until === null || row.time.greaterThan(until)) this.#ahead.delete(member);
      else if (next.time.greaterThan(until)) parted = true;
    }
    return parted;
  }

  /** Whether the answer stands behind a row already. */
  has(row: LogRow): boolean {
    if (row.number <= this.#after) return true;
    if (this.#until === null) return false;
    if (row.time.lessThanOrEqual(this.#until)) return true;
    this.#until = null;
    return false;
  }
}

/** Hands messages about one row to a member. */
export function tell(member: Member, told: readonly Told[]): void {
  const { id, outlet } = member;
  for (const one of told) outlet.push(id === null ? one.chunk() : one.frame(id));
}
