/**
 * Handles ended runs: counts them, reports them to watchers, and stores them. Runs of HTTP functions and write hooks are
 * frequent, so of those that succeeded and logged nothing one in a hundred is stored, and of the others as many as the budget of
 * their caller allows (run-storage-budget.ts). The queue stores its own runs, with their writes.
 */
import type { LogLine } from '../sandbox/sandbox.ts';
import type { LiveRuns, RunRef } from './live-runs.ts';
import type { Run } from './run.ts';
import { type CallToRecord, type RunReport, toEndedRunRow, toRunState } from './run-result.ts';
import { newRunId, type RunRow, runSizeBytes, toRun } from './run-row.ts';
import type { RunStorageBudget } from './run-storage-budget.ts';

const KEPT_SHARE = 0.01;

export interface RunRecorderDeps {
  readonly counts: { note(id: string, ok: boolean, durationMs: number): void };
  readonly live: LiveRuns;
  readonly batches: { add(row: RunRow): void };
  readonly budget: RunStorageBudget;
  /** Called with the bytes of each run that the queue has stored. */
  readonly onStored: (bytes: number) => void;
  /** A number from 0 up to 1; for tests. */
  readonly random?: () => number;
}

export class RunRecorder {
  readonly #deps: RunRecorderDeps;

  constructor(deps: RunRecorderDeps) {
    this.#deps = deps;
  }

  /** An id for a run of an HTTP function or a write hook. */
  newId(): string {
    return newRunId();
  }

  /**
   * Reports a run that is not awaited to watchers.
   * @returns the run as it starts
   */
  recordStart({ id, fn, attempt }: Pick<CallToRecord, 'id' | 'fn' | 'attempt'>): Run {
    const now = new Date();
    const run: Run = {
      id,
      plugin: fn.plugin.name,
      function: fn.name,
      version: fn.plugin.version,
      kind: fn.options.kind,
      state: 'running',
      createdAt: now,
      startedAt: now,
      durationMs: null,
      cpuMs: null,
      attempts: attempt,
      event: null,
      error: null,
      restricted: false,
    };
    this.#deps.live.run(run);
    return run;
  }

  /** Reports a line to watchers, while the run continues. */
  line(run: RunRef, line: LogLine): void {
    this.#deps.live.line(run, line);
  }

  /** Handles the end of an attempt of a run that the queue has stored itself. */
  recordAttempt(row: RunRow): void {
    const { counts, live } = this.#deps;
    counts.note(`${row.plugin}/${row.function}`, row.state === 'succeeded', row.durationMs ?? 0);
    live.run(toRun(row));
    this.#deps.onStored(runSizeBytes(row));
  }

  /**
   * Handles the end of a run that is not queued. The caller does not wait for the database.
   * @param always store it in any case
   * @returns whether the run is stored
   */
  recordEnd(subject: CallToRecord, report: RunReport, always = false): boolean {
    const { counts, live, batches, budget, random = Math.random } = this.#deps;
    const { fn, client } = subject;
    const state = toRunState(report.outcome);
    counts.note(fn.id, state !== 'failed', report.durationMs);
    const isWorth = state !== 'succeeded' || report.logs.length > 0 || random() < KEPT_SHARE;
    const isKept = always || (isWorth && budget.take(fn.id, client));
    if (!isKept && !live.isWatched) return false;
    const row = toEndedRunRow(subject, report);
    live.run(toRun(row));
    const kept = always ? row : isKept ? budget.trimToBudget(row, fn.id, client) : null;
    if (kept !== null) batches.add(kept);
    return kept !== null;
  }
}
