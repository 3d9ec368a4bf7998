/**
 * The interface of a live result, which is updated from the event log. live-query.ts implements it for documents,
 * event-subscription-result.ts for events.
 */
import type { MemoryAccount } from '../../lib/memory/byte-budget.ts';
import type { ScheduledTask } from '../../query/evaluate/fair-scheduler.ts';
import type { SubscriptionMessage } from '../wire/shared-message.ts';
import type { LogRowView } from './log-row-view.ts';

/**
 * The effect of a row on a result: messages in order, or the reason why the result is invalid. `gap`: the row does not
 * say enough. `dropped`: the collection was dropped. `window`: the window exceeds its memory budget.
 */
export type RowEffect = readonly SubscriptionMessage[] | 'gap' | 'dropped' | 'window';

/** Waits until a row can be evaluated without delaying other work. */
export async function prepareRowCooperatively(
  view: LogRowView,
  live: Pick<LiveResult, 'isHeavy' | 'prepare'>,
  lane: ScheduledTask,
): Promise<LogRowView> {
  if (view.isLong || live.isHeavy(view)) await live.prepare(view, () => lane.waitTurn());
  else if (lane.shouldYield) await lane.waitTurn();
  return view;
}

export const NO_MESSAGES: readonly SubscriptionMessage[] = [];

export interface LiveResult {
  /** Equal for subscriptions that receive the same messages. */
  readonly key: string;
  /** Its collection; null for all of them. */
  readonly collection: string | null;
  /** Whether it keeps state and must process every row once. If not, rows are evaluated independently. */
  readonly isStateful: boolean;
  /** Whether its view of a document is rendered for it alone, and not once for all results. */
  readonly rendersAlone: boolean;
  /** Whether a row of this size is slow to evaluate, because its queries are expensive. */
  isHeavy(view: LogRowView): boolean;
  /**
   * Evaluates an expensive or large row in slices; `applyRow` is fast afterwards.
   * @param turn resolves when the next slice may begin; by default it yields to other work of the process
   */
  prepare(view: LogRowView, turn?: () => Promise<unknown>): Promise<void>;
  /** Processes a row. Rows come in log order, each once. */
  applyRow(view: LogRowView): RowEffect;
  /** Whether the result must be refilled from the database before more rows. */
  readonly needsRefill: boolean;
  /**
   * Refills the result.
   * @param at the last row that was evaluated for any result: the result is refilled as of that row
   * @param limitMs time limit of the database, in milliseconds; the usual limit of a query by default
   * @throws if the database cannot read that time, or not in time; the result is then invalid
   */
  refill(at: LogRowView, limitMs?: number): Promise<readonly SubscriptionMessage[]>;
  /** The memory budget that it counts against. */
  readonly memoryAccount: MemoryAccount;
  /** Moves its memory to another budget, even above the limit of that budget. */
  chargeTo(account: MemoryAccount): void;
  /** Ends the result and releases its memory. */
  end(): void;
}
