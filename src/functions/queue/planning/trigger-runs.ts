/**
 * The runs for a row of the event log: one for each matching trigger, with the event as an administrator sees it.
 * Deterministic: the same row gives the same runs.
 */
import type { Document } from 'mongodb';
import { decodeDocument, decodeDocumentCooperatively } from '../../../database/bson/stored-document.ts';
import { idText } from '../../../database/json/ids.ts';
import { resourcesOfRow } from '../../../events/log/event-visibility.ts';
import { type LogRow, rowBytesWithDocument } from '../../../events/log/log-row.ts';
import { formatPosition } from '../../../events/log/position.ts';
import { encodeEventBody } from '../../../events/read/event-body.ts';
import { runCooperatively } from '../../../lib/concurrency/cooperative-yield.ts';
import type { ScheduledTask } from '../../../query/evaluate/fair-scheduler.ts';
import { isExpensiveMatch } from '../../../query/evaluate/filter-cost.ts';
import { depthFromRequestId, MAX_TRIGGER_DEPTH } from '../../runs/run.ts';
import type { RunRow } from '../../runs/run-row.ts';
import { createPendingRun, createSkippedRun, type PlannedRun, runIdFor } from '../running/queued-run-transitions.ts';
import type { TriggerFilter } from './trigger-index.ts';

const TOO_LONG = {
  code: 'trigger-depth',
  message: `Triggers caused each other ${MAX_TRIGGER_DEPTH} times`,
  stack: null,
} as const;

export interface TriggerRunsDeps {
  /** Adds the current document to a row whose own documents were too large. */
  readonly completed: (row: LogRow) => Promise<LogRow>;
  /** The public URL of this server; undefined if it is not known. */
  readonly publicUrl: string | undefined;
  readonly now: () => number;
}

export class TriggerRuns {
  readonly #deps: TriggerRunsDeps;

  constructor(deps: TriggerRunsDeps) {
    this.#deps = deps;
  }

  /**
   * @param triggers those that match the row by its type
   * @param lane yields to other work between triggers
   */
  async of(row: LogRow, triggers: readonly TriggerFilter[], lane: ScheduledTask): Promise<readonly RunRow[]> {
    const subject = reportedFunction(row);
    const restricted = resourcesOfRow(row).includes('_admin:accounts');
    const requested = triggers.filter(({ fn }) => fn.id !== subject && (fn.plugin.readsUsers || !restricted));
    if (requested.length === 0) return [];
    const whole = await this.#deps.completed(row);
    const turn = () => lane.waitTurn();
    const stored = [whole.after, whole.before].filter((state) => state !== null);
    let states: readonly Document[] | null = null;
    const found: TriggerFilter[] = [];
    for (const trigger of requested) {
      if (lane.shouldYield) await lane.waitTurn();
      const match = trigger.matchAt(this.#deps.now());
      if (match === null || stored.length === 0) {
        found.push(trigger);
        continue;
      }
      states ??= await Promise.all(stored.map((state) => decodeDocumentCooperatively(state, turn)));
      const isLong = isExpensiveMatch(trigger.cost, rowBytesWithDocument(row));
      for (const state of states) {
        if (!(isLong ? await runCooperatively(() => match(state), turn) : match(state))) continue;
        found.push(trigger);
        break;
      }
    }
    const input = found.length === 0 ? null : encodeEventBody(whole, this.#deps.publicUrl);
    return input === null ? [] : found.map(({ fn }) => this.#run(row, fn, { input, restricted }));
  }

  #run(row: LogRow, fn: TriggerFilter['fn'], given: Pick<PlannedRun, 'input' | 'restricted'>): RunRow {
    const event = formatPosition(row);
    const position = { epoch: row.epoch, number: row.number };
    const depth = depthFromRequestId(row.request) + 1;
    const document = row.key && idText(decodeDocument(row.key)['_id']);
    const line = document === null ? {} : { line: `${fn.id} ${row.collection}/${document}` };
    const now = new Date(this.#deps.now());
    const id = runIdFor(fn.id, event);
    // A run in a FIFO group becomes due once it is known to be the first one.
    const dueAt = document === null ? now : null;
    const planned = { id, fn, ...given, depth, now, dueAt, more: { event, position, ...line } };
    return depth > MAX_TRIGGER_DEPTH ? createSkippedRun(planned, TOO_LONG) : createPendingRun(planned);
  }
}

/** The function that an event is about: it does not get that event. Null for every other row. */
function reportedFunction(row: LogRow): string | null {
  if (row.collection !== '_activity' || row.after === null) return null;
  const details: unknown = decodeDocument(row.after)['details'];
  return typeof details === 'object' && details !== null && 'function' in details ? String(details.function) : null;
}
