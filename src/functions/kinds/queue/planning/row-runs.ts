/**
 * The runs that a row of the event log makes: one for each trigger that wants it, with the event as an owner may see it. The
 * same row makes the same runs, whoever plans it and how often. Not here: which rows are read (trigger-planner.ts).
 */
import type { Document } from 'mongodb';
import { readInTurns, readStored } from '../../../../database/bson/stored.ts';
import { idText } from '../../../../database/json/ids.ts';
import { formatPosition } from '../../../../events/log/position.ts';
import { type LogRow, wholeBytes } from '../../../../events/log/row.ts';
import { placesOfRow } from '../../../../events/log/row-audience.ts';
import { toBody } from '../../../../events/read/event-body.ts';
import { inTurns } from '../../../../kernel/concurrency/pauses.ts';
import { isHeavy } from '../../../../query/evaluate/cost.ts';
import type { Lane } from '../../../../query/evaluate/turnstile.ts';
import { depthOf, MAX_CHAIN } from '../../../runs/run.ts';
import type { RunRow } from '../../../runs/run-row.ts';
import { type PlannedRun, refusedRun, runIdFor, waitingRun } from '../running/queued-run.ts';
import type { WantedTrigger } from './wanted-triggers.ts';

const TOO_LONG = {
  code: 'trigger-depth',
  message: `Triggers have led to each other ${MAX_CHAIN} times`,
  stack: null,
} as const;

export interface RowRunsParts {
  /** Adds the document as it is now to a row whose own documents were too large. */
  readonly completed: (row: LogRow) => Promise<LogRow>;
  /** The address of this server for clients; undefined when it is not known. */
  readonly publicUrl: string | undefined;
  readonly now: () => number;
}

export class RowRuns {
  readonly #parts: RowRunsParts;

  constructor(parts: RowRunsParts) {
    this.#parts = parts;
  }

  /**
   * @param triggers those that want the row by its type
   * @param lane gives turns to other work between triggers
   */
  async of(row: LogRow, triggers: readonly WantedTrigger[], lane: Lane): Promise<readonly RunRow[]> {
    const subject = toldFunction(row);
    const restricted = placesOfRow(row).includes('admin:accounts');
    const asked = triggers.filter(({ fn }) => fn.id !== subject && (fn.plugin.readsAccounts || !restricted));
    if (asked.length === 0) return [];
    const whole = await this.#parts.completed(row);
    const turn = () => lane.pass();
    const stored = [whole.after, whole.before].filter((state) => state !== null);
    let states: readonly Document[] | null = null;
    const found: WantedTrigger[] = [];
    for (const trigger of asked) {
      if (lane.isOver) await lane.pass();
      const match = trigger.matchAt(this.#parts.now());
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
    const input = found.length === 0 ? null : toBody(whole, this.#parts.publicUrl);
    return input === null ? [] : found.map(({ fn }) => this.#run(row, fn, { input, restricted }));
  }

  #run(row: LogRow, fn: WantedTrigger['fn'], given: Pick<PlannedRun, 'input' | 'restricted'>): RunRow {
    const event = formatPosition(row);
    const position = { epoch: row.epoch, number: row.number };
    const depth = depthOf(row.request) + 1;
    const document = row.key && idText(readStored(row.key)['_id']);
    const line = document === null ? {} : { line: `${fn.id} ${row.collection}/${document}` };
    const now = new Date(this.#parts.now());
    const id = runIdFor(fn.id, event);
    // One of a line is made due when it is known to be the first one.
    const dueAt = document === null ? now : null;
    const planned = { id, fn, ...given, depth, now, dueAt, more: { event, position, ...line } };
    return depth > MAX_CHAIN ? refusedRun(planned, TOO_LONG) : waitingRun(planned);
  }
}

/** The function of which an event tells: it does not get that event. Null for every other row. */
function toldFunction(row: LogRow): string | null {
  if (row.collection !== '_activity' || row.after === null) return null;
  const details: unknown = readStored(row.after)['details'];
  return typeof details === 'object' && details !== null && 'function' in details ? String(details.function) : null;
}
