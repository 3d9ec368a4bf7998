/**
 * What follows an answer along the log, whatever was asked: the face that hub and subscriptions know. Documents are
 * followed by live-query.ts, events by live-events.ts.
 */

import type { Account } from '../../kernel/memory/byte-budget.ts';
import { isHeavy } from '../../query/evaluate/cost.ts';
import type { Lane } from '../../query/evaluate/turnstile.ts';
import type { Told } from '../wire/shared-message.ts';
import type { RowView } from './row-view.ts';

/**
 * What a row makes of an answer: messages in order, or why the answer is void: nobody can tell what the row makes of it, the
 * collection has gone, or what has to be remembered takes more memory than there is for it.
 */
export type Judgement = readonly Told[] | 'gap' | 'dropped' | 'window';

/** Waits until a row can be judged without holding others up. */
export async function readyFor(
  view: RowView,
  live: Pick<LiveAnswer, 'cost' | 'prepare'>,
  lane: Lane,
): Promise<RowView> {
  if (isHeavy(live.cost, view.bytes)) await live.prepare(view, () => lane.pass());
  else if (lane.isOver) await lane.pass();
  return view;
}

export const NOTHING: readonly Told[] = [];

export interface LiveAnswer {
  /** Equal for subscriptions that get the same messages. */
  readonly key: string;
  /** The one collection it is about; null for all of them. */
  readonly collection: string | null;
  /** Whether it keeps an answer of its own, which must take every row once; else each row says by itself what it means. */
  readonly remembers: boolean;
  /** What it asks of each row costs, in nanoseconds a byte (query/evaluate/cost.ts). */
  readonly cost: number;
  /**
   * Asks a row for which that is much, in turns: `judge` takes little time then.
   * @param turn resolves when the next slice may begin; after whatever else is ready, when left out
   */
  prepare(view: RowView, turn?: () => Promise<unknown>): Promise<void>;
  /** Takes a row. Rows come in their order, each once. */
  judge(view: RowView): Judgement;
  /** Whether the answer has to be completed from the database before more rows come. */
  readonly wanting: boolean;
  /**
   * Completes the answer.
   * @param at the last row that was judged by anybody: the answer is completed as of then
   * @param limitMs how long the database may take, in milliseconds; the usual time of a query when left out
   * @throws when the database cannot say, or not in time; the answer is void then
   */
  settle(at: RowView, limitMs?: number): Promise<readonly Told[]>;
  /** The account that pays for what it remembers. */
  readonly payer: Account;
  /** Lets another account pay from now on, beyond its bound too. */
  payBy(account: Account): void;
  /** Gives back what was paid: the answer is followed no more. */
  end(): void;
}
