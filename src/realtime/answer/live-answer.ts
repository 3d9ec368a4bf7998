/**
 * The interface of an answer that is kept up to date from the event log, as hub and subscriptions use it. live-query.ts
 * implements it for documents, live-events.ts for events.
 */
import type { Account } from '../../kernel/memory/byte-budget.ts';
import type { Lane } from '../../query/evaluate/turnstile.ts';
import type { Told } from '../wire/shared-message.ts';
import type { RowView } from './row-view.ts';

/**
 * What a row means for an answer: messages in order, or the reason why the answer is void. `gap`: the row does not say
 * enough. `dropped`: the collection is gone. `window`: the window takes more memory than its account has.
 */
export type Judgement = readonly Told[] | 'gap' | 'dropped' | 'window';

/** Waits until a row can be evaluated without holding up other work. */
export async function readyFor(
  view: RowView,
  live: Pick<LiveAnswer, 'isHeavy' | 'prepare'>,
  lane: Lane,
): Promise<RowView> {
  if (view.isLong || live.isHeavy(view)) await live.prepare(view, () => lane.pass());
  else if (lane.isOver) await lane.pass();
  return view;
}

export const NOTHING: readonly Told[] = [];

export interface LiveAnswer {
  /** Equal for subscriptions that get the same messages. */
  readonly key: string;
  /** The one collection it is about; null for all of them. */
  readonly collection: string | null;
  /** Whether it keeps state and must take every row once. If not, each row says by itself what it means. */
  readonly remembers: boolean;
  /** Whether what it shows of a document is rendered for it alone, and not once for all answers. */
  readonly rendersAlone: boolean;
  /** Whether it takes long to evaluate a row: its questions are expensive for so many bytes. */
  isHeavy(view: RowView): boolean;
  /**
   * Evaluates an expensive or large row in slices; `judge` takes little time afterwards.
   * @param turn resolves when the next slice may begin; when left out, other work of the process goes first
   */
  prepare(view: RowView, turn?: () => Promise<unknown>): Promise<void>;
  /** Takes a row. Rows come in the order of the log, each once. */
  judge(view: RowView): Judgement;
  /** Whether the answer has to be refilled from the database before more rows come. */
  readonly wanting: boolean;
  /**
   * Refills the answer.
   * @param at the last row that was evaluated for any answer: the answer is refilled as of that row
   * @param limitMs how long the database may take, in milliseconds; the usual time of a query when left out
   * @throws when the database cannot read that moment, or not in time; the answer is void then
   */
  refill(at: RowView, limitMs?: number): Promise<readonly Told[]>;
  /** The account that pays for its memory. */
  readonly payer: Account;
  /** Lets another account pay from now on, even above the limit of that account. */
  payBy(account: Account): void;
  /** Ends the answer and gives its memory back. */
  end(): void;
}
