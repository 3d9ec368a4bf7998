/**
 * The state of a client: the state machine of docs/protocol.md for one subscription, and a record of its documents at
 * every position it received. The order is computed by our own client's code.
 */

import { LiveResult } from '../../../client/live-result.ts';
import type { SubscriptionFrame as Drawn } from '../../../client/live-subscription.ts';
import type { Frame } from './socket.ts';

/** The documents of one subscription at a moment when the client knows its position. */
export interface Check {
  readonly position: string;
  readonly state: string;
  /** Ids in the order in which the client shows them; null without an order. */
  readonly order: readonly string[] | null;
  /** True if nothing has arrived since the snapshot. */
  readonly fresh: boolean;
  /**
   * True if the client resumed right after a snapshot, before any change arrived. The snapshot may be newer than its
   * position, so changes in between are sent again, as docs/protocol.md says.
   */
  readonly again: boolean;
  /** Number of earlier snapshots. */
  readonly snapshot: number;
  /** When the position arrived, in milliseconds of the monotonic clock. */
  readonly at: number;
}

/** One subscription as its client sees it. */
export class LiveState {
  readonly id: string;
  readonly documents = new Map<string, unknown>();
  readonly checks: Check[] = [];
  readonly issues: string[] = [];
  /** Why it was reset. */
  readonly reasons: string[] = [];
  live = false;
  /** Whether the server has ended it. */
  ended = false;
  /** The position from which it would resume. */
  position: string | null = null;
  readonly #response: LiveResult | null;
  #fresh = true;
  #again = false;
  #snapshot = 0;
  #last = '';

  /** @param sort the query's sort, if the client shows an order */
  constructor(id: string, sort?: string) {
    this.id = id;
    this.#response = sort === undefined ? null : new LiveResult(sort);
  }

  get resets(): number {
    return this.reasons.length;
  }

  /** True if the client knows its position, or knows that the subscription has ended. */
  get settled(): boolean {
    return this.live || this.ended || this.issues.length > 0;
  }

  /** The connection is lost. */
  interrupt(): void {
    this.live = false;
    this.#again ||= this.#fresh;
    // After resuming at an older position from a ping, changes after it come again.
    this.#last = '';
    this.#response?.interrupt();
  }

  /** Subscribes again, from the beginning. */
  again(): void {
    this.interrupt();
    this.ended = false;
    this.position = null;
    this.issues.length = 0;
  }

  take(frame: Frame): void {
    if (frame.type === 'transaction') {
      const changes = frame['changes'] as Frame[];
      const mine = changes.filter((change) => change['id'] === this.id);
      for (const change of mine) this.#change(change);
      if (mine.length > 0) this.position = String(frame['event']);
    }
    if (frame.type === 'ping' && this.live) this.#stand(String(frame['position']));
    if (frame['id'] !== this.id) return;
    if (frame.type !== 'change') this.#response?.apply(frame as Drawn);
    if (frame.type === 'unsubscribed') {
      this.issues.push(JSON.stringify(frame));
      this.ended = true;
      this.live = false;
    }
    if (frame.type === 'reset' || (frame.type === 'subscribed' && frame['from'] === 'snapshot')) {
      this.documents.clear();
      this.live = false;
      this.#fresh = true;
      this.#again = false;
      this.#snapshot += 1;
      this.position = null;
      if (frame.type === 'reset') this.reasons.push(String(frame['reason']));
    }
    if (frame.type === 'snapshot') {
      for (const document of frame['documents'] as { id: string }[]) this.documents.set(document.id, document);
      if (frame['last'] === true) this.position = String(frame['position']);
    }
    if (frame.type === 'change') {
      this.#change(frame);
      this.position = String(frame['event']);
    }
    if (frame.type === 'live') {
      this.live = true;
      this.#stand(String(frame['position']));
    }
  }

  #change(change: Frame): void {
    const event = String(change['event']);
    // Changes that a new policy causes in a snapshot have the snapshot's position.
    if (this.position === null || before(this.position, event)) this.#fresh = false;
    if (before(event, this.#last)) this.issues.push(`${event} after ${this.#last}`);
    this.#last = event;
    const id = String(change['documentId']);
    if (change['op'] === 'leave') this.documents.delete(id);
    else this.documents.set(id, change['document']);
    this.#response?.apply({ ...(change as Drawn), type: 'change' });
  }

  #stand(position: string): void {
    this.position = position;
    // If a subscription is slow, a ping has the position of the subscription that is furthest behind.
    if (before(position, this.#last)) return;
    const state = stateText(this.documents.values());
    const order = this.#response?.documents().map(({ id }) => id) ?? null;
    const [fresh, again, snapshot] = [this.#fresh, this.#again, this.#snapshot];
    this.checks.push({ position, state, order, fresh, again, snapshot, at: performance.now() });
  }
}

/** Whether a position is before another one. */
function before(one: string, other: string): boolean {
  return numberOf(one) < numberOf(other);
}

export const numberOf = (position: string): number => Number(position.split('-')[1] ?? 0);

/**
 * A text that is equal for the same documents in any order. Without `_meta`: a write that changes nothing else raises
 * the revision but is not an event.
 */
export function stateText(documents: Iterable<unknown>): string {
  return [...documents]
    .map((document) => JSON.stringify(document, (name, value: unknown) => (name === '_meta' ? undefined : value)))
    .sort()
    .join('\n');
}
