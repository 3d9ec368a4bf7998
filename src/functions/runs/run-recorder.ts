/**
 * What becomes of a run that has ended: it is counted, told to those who watch, and kept. Runs of endpoints and befores are
 * many, so of those that went well and logged nothing one in a hundred is kept; what did not go well always is. Runs of the
 * queue are stored by the queue itself, with what they have written. Not here: how they are stored (run-batches.ts).
 */
import type { LogLine } from '../sandbox/sandbox.ts';
import { endedRow, type RunReport, type RunSubject, stateOf } from './ended-run.ts';
import type { LiveRuns, RunName } from './live-runs.ts';
import type { Run } from './run.ts';
import { newRunId, type RunRow, toRun } from './run-row.ts';

const KEPT_SHARE = 0.01;

export interface RunRecorderParts {
  readonly counts: { note(id: string, ok: boolean, durationMs: number): void };
  readonly live: LiveRuns;
  readonly batches: { add(row: RunRow): void };
  /** A number from 0 up to 1; for tests. */
  readonly random?: () => number;
}

export class RunRecorder {
  readonly #parts: RunRecorderParts;

  constructor(parts: RunRecorderParts) {
    this.#parts = parts;
  }

  /** An id for a run of an endpoint or a before. */
  newId(): string {
    return newRunId();
  }

  /** Tells those who watch of a run that nobody waits for. @returns the run, as it begins */
  began({ id, fn, attempt }: RunSubject): Run {
    const now = new Date();
    const run: Run = {
      id,
      plugin: fn.plugin.name,
      function: fn.name,
      version: fn.plugin.version,
      kind: fn.use.kind,
      state: 'running',
      createdAt: now,
      startedAt: now,
      durationMs: null,
      cpuMs: null,
      attempt,
      event: null,
      error: null,
      restricted: false,
    };
    this.#parts.live.run(run);
    return run;
  }

  /** Tells those who watch of a line, while the run goes on. */
  line(run: RunName, line: LogLine): void {
    this.#parts.live.line(run, line);
  }

  /** Takes the end of an attempt of a run that the queue has stored itself. */
  attempted(row: RunRow): void {
    const { counts, live } = this.#parts;
    counts.note(`${row.plugin}/${row.function}`, row.state === 'ok', row.durationMs ?? 0);
    live.run(toRun(row));
  }

  /**
   * Takes the end of a run that is not in the queue. It costs the caller no time in the database.
   * @param always kept, whatever it did
   * @returns whether the run is kept
   */
  ended(subject: RunSubject, report: RunReport, always = false): boolean {
    const { counts, live, batches, random = Math.random } = this.#parts;
    const state = stateOf(report.outcome);
    counts.note(subject.fn.id, state !== 'failed', report.durationMs);
    const isKept = always || state !== 'ok' || report.logs.length > 0 || random() < KEPT_SHARE;
    if (!isKept && !live.isWatched) return false;
    const row = endedRow(subject, report);
    live.run(toRun(row));
    if (isKept) batches.add(row);
    return isKept;
  }
}
