/**
 * The effects of missed rows on equal results, for subscriptions that catch up at the same time: a row is evaluated and its
 * messages are encoded once for all of them. Nothing stays when none of them catches up any more.
 */
import { type LogRow, rowBytesWithDocument } from '../../events/log/log-row.ts';
import type { ByteBudget } from '../../lib/memory/byte-budget.ts';
import type { ScheduledTask } from '../../query/evaluate/fair-scheduler.ts';
import { type LiveResult, prepareRowCooperatively, type RowEffect } from '../result/live-result-interface.ts';
import { LogRowView } from '../result/log-row-view.ts';

/** Bytes for all queries; beyond them each subscription evaluates rows by itself. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Bytes of an effect without its documents. */
const EFFECT_BYTES = 200;
const BUDGET_KEY = 'shared row effects';

interface SharedEffect {
  readonly effect: RowEffect;
  /** Bytes that are counted for it. */
  bytes: number;
}

interface SharedEffects {
  readonly byRow: Map<LogRow, SharedEffect>;
  users: number;
  bytes: number;
}

/** The rows of one subscription that catches up. */
export interface RowEvaluation {
  /** The effect of the next row. A result with state evaluates every row by itself. */
  apply(row: LogRow, lane: ScheduledTask): Promise<RowEffect>;
  /** Called when it has caught up. */
  readonly end: () => void;
}

export class SharedRowEffects {
  readonly #budget: ByteBudget;
  /** By the key of the result. */
  readonly #effects = new Map<string, SharedEffects>();
  #bytes = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** @param run aborted when the subscription does not catch up any more */
  evaluate(live: LiveResult, run: AbortSignal): RowEvaluation {
    const compute = async (row: LogRow, lane: ScheduledTask) =>
      live.applyRow(await prepareRowCooperatively(new LogRowView(row), live, lane));
    // Rights to events can depend on the time, which is not part of the key.
    if (live.isStateful || live.collection === null || run.aborted) return { apply: compute, end: () => {} };
    const { key } = live;
    const shared = this.#effects.get(key) ?? { byRow: new Map(), users: 0, bytes: 0 };
    this.#effects.set(key, shared);
    shared.users += 1;
    const apply = async (row: LogRow, lane: ScheduledTask): Promise<RowEffect> => {
      if (lane.shouldYield) await lane.waitTurn();
      const known = shared.byRow.get(row);
      if (known !== undefined) {
        this.#recount(shared, row, known);
        return known.effect;
      }
      const effect = await compute(row, lane);
      if (shared.users > 1) this.#add(shared, row, effect);
      return effect;
    };
    const end = () => {
      run.removeEventListener('abort', end);
      shared.users -= 1;
      if (shared.users > 0) return;
      this.#effects.delete(key);
      this.#count(shared, -shared.bytes);
    };
    run.addEventListener('abort', end);
    return { apply, end };
  }

  #add(shared: SharedEffects, row: LogRow, effect: RowEffect): void {
    const bytes = bytesOf(row, effect);
    if (this.#bytes + bytes > MOST_BYTES || shared.byRow.has(row)) return;
    shared.byRow.set(row, { effect, bytes });
    this.#count(shared, bytes);
  }

  /** Messages keep a frame for each id of a subscription, which clients choose: what was added since counts, too. */
  #recount(shared: SharedEffects, row: LogRow, known: SharedEffect): void {
    const more = bytesOf(row, known.effect) - known.bytes;
    if (this.#bytes + more > MOST_BYTES) {
      shared.byRow.delete(row);
      this.#count(shared, -known.bytes);
      return;
    }
    known.bytes += more;
    this.#count(shared, more);
  }

  #count(shared: SharedEffects, bytes: number): void {
    shared.bytes += bytes;
    this.#bytes += bytes;
    this.#budget.note(BUDGET_KEY, bytes);
  }
}

/** The document as read, and what its messages have encoded. */
function bytesOf(row: LogRow, effect: RowEffect): number {
  if (typeof effect === 'string') return EFFECT_BYTES;
  const encoded = effect.reduce((bytes, message) => bytes + message.created, 0);
  return EFFECT_BYTES + (effect.length === 0 ? 0 : rowBytesWithDocument(row) + encoded);
}
