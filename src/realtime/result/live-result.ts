/**
 * The interface of a live result, which is updated from the event log. live-query.ts implements it for documents,
 * live-events.ts for events.
 */
import type { Account } from '../../lib/memory/byte-budget.ts';
import type { Lane } from '../../query/evaluate/fair-yield.ts';
import type { Reported } from '../wire/shared-message.ts';
import type { RowView } from './row-view.ts';

/**
 * The effect of a row on a result: messages in order, or the reason why the result is invalid. `gap`: the row does not
 * say enough. `dropped`: the collection was dropped. `window`: the window exceeds its memory budget.
 */
export type Verification = readonly Reported[] | 'gap' | 'dropped' | 'window';

/** Waits until a row can be evaluated without delaying other work. */
export async function readyFor(
  view: RowView,
  live: Pick<LiveResponse, 'isHeavy' | 'prepare'>,
  lane: Lane,
): Promise<RowView> {
  if (view.isLong || live.isHeavy(view)) await live.prepare(view, () => lane.pass());
  else if (lane.isOver) await lane.pass();
  return view;
}

export const NOTHING: readonly Reported[] = [];

export interface LiveResponse {
  /** Equal for subscriptions that receive the same messages. */
  readonly key: string;
  /** Its collection; null for all of them. */
  readonly collection: string | null;
  /** Whether it keeps state and must process every row once. If not, rows are evaluated independently. */
  readonly remembers: boolean;
  /** Whether its view of a document is rendered for it alone, and not once for all results. */
  readonly rendersAlone: boolean;
  /** Whether a row of this size is slow to evaluate, because its queries are expensive. */
  isHeavy(view: RowView): boolean;
  /**
   * Evaluates an expensive or large row in slices; `judge` is fast afterwards.
   * @param turn resolves when the next slice may begin; by default it yields to other work of the process
   */
  prepare(view: RowView, turn?: () => Promise<unknown>): Promise<void>;
  /** Processes a row. Rows come in log order, each once. */
  judge(view: RowView): Verification;
  /** Whether the result must be refilled from the database before more rows. */
  readonly wanting: boolean;
  /**
   * Refills the result.
   * @param at the last row that was evaluated for any result: the result is refilled as of that row
   * @param limitMs time limit of the database, in milliseconds; the usual limit of a query by default
   * @throws if the database cannot read that time, or not in time; the result is then invalid
   */
  refill(at: RowView, limitMs?: number): Promise<readonly Reported[]>;
  /** The memory budget that it counts against. */
  readonly payer: Account;
  /** Moves its memory to another budget, even above the limit of that budget. */
  payBy(account: Account): void;
  /** Ends the result and releases its memory. */
  end(): void;
}
