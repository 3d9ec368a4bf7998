/**
 * What becomes of a run that has ended: it is counted, told to those who watch, and kept. Runs of endpoints and befores are
 * many, so of those that went well and logged nothing one in a hundred is kept, and of the others as many as their caller has a
 * budget for (run-budget.ts). Runs of the queue are stored by the queue itself, with what they have written.
 */
import type { LogLine } from '../sandbox/sandbox.ts';
import { endedRow, type RunReport, type RunSubject, stateOf } from './ended-run.ts';
import type { LiveRuns, RunName } from './live-runs.ts';
import type { Run } from './run.ts';
import type { RunBudget } from './run-budget.ts';
import { bytesOf, newRunId, type RunRow, toRun } from './run-row.ts';

const KEPT_SHARE = 0.01;

export interface RunRecorderParts {
  readonly counts: { note(id: string, ok: boolean, durationMs: number): void };
  readonly live: LiveRuns;
  readonly batches: { add(row: RunRow): void };
  readonly budget: RunBudget;
  /** Called with the bytes of each run that the queue has stored. */
  readonly onStored: (bytes: number) => void;
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
  began({ id, fn, attempt }: Pick<RunSubject, 'id' | 'fn' | 'attempt'>): Run {
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
    this.#parts.onStored(bytesOf(row));
  }

  /**
   * Takes the end of a run that is not in the queue. It costs the caller no time in the database.
   * @param always kept, whatever it did
   * @returns whether the run is kept
   */
  ended(subject: RunSubject, report: RunReport, always = false): boolean {
    const { counts, live, batches, budget, random = Math.random } = this.#parts;
    const { fn, client } = subject;
    const state = stateOf(report.outcome);
    counts.note(fn.id, state !== 'failed', report.durationMs);
    const isWorth = state !== 'ok' || report.logs.length > 0 || random() < KEPT_SHARE;
    const isKept = always || (isWorth && budget.take(fn.id, client));
    if (!isKept && !live.isWatched) return false;
    const row = endedRow(subject, report);
    live.run(toRun(row));
    const kept = always ? row : isKept ? budget.fitted(row, fn.id, client) : null;
    if (kept !== null) batches.add(kept);
    return kept !== null;
  }
}
