/**
 * The runs for a row of the event log: one for each matching trigger, with the event as an administrator sees it.
 * Deterministic: the same row gives the same runs.
 */
import type { Document } from 'mongodb';
import { readInTurns, readStored } from '../../../database/bson/stored.ts';
import { idText } from '../../../database/json/ids.ts';
import { resourcesOfRow } from '../../../events/log/event-visibility.ts';
import { formatPosition } from '../../../events/log/position.ts';
import { type LogRow, wholeBytes } from '../../../events/log/row.ts';
import { toBody } from '../../../events/read/event-body.ts';
import { inTurns } from '../../../lib/concurrency/cooperative-yield.ts';
import { isHeavy } from '../../../query/evaluate/cost.ts';
import type { Lane } from '../../../query/evaluate/fair-yield.ts';
import { depthOf, MAX_CHAIN } from '../../runs/run.ts';
import type { RunRow } from '../../runs/run-row.ts';
import { type PlannedRun, runIdFor, skippedRun, waitingRun } from '../running/queued-run.ts';
import type { TriggerFilter } from './wanted-triggers.ts';

const TOO_LONG = {
  code: 'trigger-depth',
  message: `Triggers caused each other ${MAX_CHAIN} times`,
  stack: null,
} as const;

export interface RowRunsDeps {
  /** Adds the current document to a row whose own documents were too large. */
  readonly completed: (row: LogRow) => Promise<LogRow>;
  /** The public URL of this server; undefined if it is not known. */
  readonly publicUrl: string | undefined;
  readonly now: () => number;
}

export class RowRuns {
  readonly #deps: RowRunsDeps;

  constructor(deps: RowRunsDeps) {
    this.#deps = deps;
  }

  /**
   * @param triggers those that match the row by its type
   * @param lane yields to other work between triggers
   */
  async of(row: LogRow, triggers: readonly TriggerFilter[], lane: Lane): Promise<readonly RunRow[]> {
    const subject = reportedFunction(row);
    const restricted = resourcesOfRow(row).includes('_admin:accounts');
    const requested = triggers.filter(({ fn }) => fn.id !== subject && (fn.plugin.readsUsers || !restricted));
    if (requested.length === 0) return [];
    const whole = await this.#deps.completed(row);
    const turn = () => lane.pass();
    const stored = [whole.after, whole.before].filter((state) => state !== null);
    let states: readonly Document[] | null = null;
    const found: TriggerFilter[] = [];
    for (const trigger of requested) {
      if (lane.isOver) await lane.pass();
      const match = trigger.matchAt(this.#deps.now());
      if (match === null || stored.length === 0) {
        found.push(trigger);
        continue;
      }
      states ??= await Promise.all(stored.map((state) => readInTurns(state, turn)));
      const isLong = isHeavy(trigger.cost, wholeBytes(row));
      for (const state of states) {
        if (!(isLong ? await inTurns(() => match(state), turn) : match(state))) continue;
        found.push(trigger);
        break;
      }
    }
    const input = found.length === 0 ? null : toBody(whole, this.#deps.publicUrl);
    return input === null ? [] : found.map(({ fn }) => this.#run(row, fn, { input, restricted }));
  }

  #run(row: LogRow, fn: TriggerFilter['fn'], given: Pick<PlannedRun, 'input' | 'restricted'>): RunRow {
    const event = formatPosition(row);
    const position = { epoch: row.epoch, number: row.number };
    const depth = depthOf(row.request) + 1;
    const document = row.key && idText(readStored(row.key)['_id']);
    const line = document === null ? {} : { line: `${fn.id} ${row.collection}/${document}` };
    const now = new Date(this.#deps.now());
    const id = runIdFor(fn.id, event);
    // A run in a FIFO group becomes due once it is known to be the first one.
    const dueAt = document === null ? now : null;
    const planned = { id, fn, ...given, depth, now, dueAt, more: { event, position, ...line } };
    return depth > MAX_CHAIN ? skippedRun(planned, TOO_LONG) : waitingRun(planned);
  }
}

/** The function that an event is about: it does not get that event. Null for every other row. */
function reportedFunction(row: LogRow): string | null {
  if (row.collection !== '_activity' || row.after === null) return null;
  const details: unknown = readStored(row.after)['details'];
  return typeof details === 'object' && details !== null && 'function' in details ? String(details.function) : null;
}
