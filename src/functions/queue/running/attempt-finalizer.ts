/**
 * What an attempt leaves: the run that waits for its next attempt or has failed, the events that tell of it, and the next run of
 * its line, which may go on. Also for runs whose process died.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { AuditEvents } from '../../../database/audit-only-events.ts';
import { MAX_TRIGGER_DEPTH, publicErrorCode, type RunError, requestIdForWrites } from '../../runs/run.ts';
import { isRestrictedRun, type RunRow } from '../../runs/run-row.ts';
import type { AttemptResult } from './attempt.ts';
import type { AttemptResultFields, QueueStore } from './queue-store.ts';
import { functionActorId, functionIdOf, nextAttemptAt } from './queued-run-transitions.ts';
import type { RunOutcome } from './run-slots.ts';

/** Delay of a released run, in milliseconds. */
const BACK_MS = 1_000;
/** The same for a run that was interrupted repeatedly. */
const MOST_BACK_MS = 60_000;
/** The event that caused a run, if it is about a function: the input begins with its id and type. */
const OF_FUNCTION = /^\{"id":"[\d-]+","type":"system\.(?:function|run)\./;

const DIED: RunError = {
  code: 'function-runtime-restarted',
  message: 'The process that ran it has ended',
  stack: null,
};

export interface AttemptFinalizerDeps {
  readonly store: Pick<QueueStore, 'fail' | 'releaseRun' | 'releaseNext' | 'findAbandoned'>;
  readonly activity: AuditEvents;
  /** Called with each run that has ended, or failed and waits for a retry. */
  readonly onEnd: (run: RunRow) => void;
  readonly now: () => number;
  /** Ends waiting for an unavailable database. */
  readonly signal: AbortSignal;
}

/** The follow-up of an attempt. */
export interface AttemptFollowUp {
  /** The outcome. */
  readonly outcome: RunOutcome;
  /** When the run is due again; null if it has ended. */
  readonly dueAt: Date | null;
  /** Whether the next run of its FIFO group is due now. */
  readonly hasNext: boolean;
}

export class AttemptFinalizer {
  readonly #deps: AttemptFinalizerDeps;

  constructor(deps: AttemptFinalizerDeps) {
    this.#deps = deps;
  }

  /**
   * An interrupted attempt does not count, whatever interrupted it.
   * @param isStopping whether this process ends: then the run is due immediately
   */
  async of(run: RunRow, token: string, end: AttemptResult, isStopping: boolean): Promise<AttemptFollowUp> {
    const { store, now } = this.#deps;
    if (end.kind === 'not-tried' || end.kind === 'interrupted') {
      const isInterrupted = end.kind === 'interrupted' && !isStopping;
      const { interruptions = 0 } = run;
      const pause = isInterrupted ? Math.min(MOST_BACK_MS, BACK_MS * 2 ** interruptions) : BACK_MS;
      const dueAt = new Date(now() + (end.kind === 'interrupted' && isStopping ? 0 : pause));
      // Without the database the run cannot be released; the next recorder takes it over.
      await this.#persist(() => store.releaseRun(run._id, token, dueAt, isInterrupted));
      return { outcome: 'other', dueAt, hasNext: false };
    }
    if (end.kind === 'lost') return { outcome: 'other', dueAt: null, hasNext: false };
    const course = outcomeOf(end);
    if (end.kind === 'failed')
      return { outcome: course, ...(await this.#failed({ ...run, token }, end.fields, end.error)) };
    const hasNext = await this.#goOn(run);
    this.#deps.onEnd({ ...run, ...end.fields, state: 'succeeded' });
    return { outcome: course, dueAt: null, hasNext };
  }

  /**
   * Takes over the runs of ended processes: an attempt whose process crashed has failed.
   * @param own tokens of the runs of this process
   */
  async takeOver(own: readonly string[]): Promise<void> {
    const fields = {
      durationMs: null,
      cpuMs: null,
      error: DIED,
      logs: [],
      operations: [],
      result: null,
      resultBytes: 0,
    };
    for (const run of await this.#deps.store.findAbandoned(own)) {
      // Most such runs are not at fault, so they need no delay.
      await this.#failed(run, fields, DIED, new Date(this.#deps.now()));
    }
  }

  /**
   * Records a failed attempt.
   * @param soon the retry time, if not derived from the number of failures
   */
  async #failed(
    run: RunRow,
    fields: AttemptResultFields,
    error: RunError,
    soon?: Date,
  ): Promise<Omit<AttemptFollowUp, 'outcome'>> {
    const { store, activity } = this.#deps;
    const now = new Date(this.#deps.now());
    const next = nextAttemptAt(run.attempts, now);
    const dueAt = next === null ? null : (soon ?? next);
    const isOurs = await this.#persist(() => store.fail(run._id, run.token ?? '', { ...fields, error }, dueAt, now));
    if (!isOurs) return { dueAt: null, hasNext: false };
    const hasNext = dueAt === null && (await this.#goOn(run));
    const code = isRestrictedRun(run) ? publicErrorCode(error) : error.code;
    const details = { function: functionIdOf(run), run: run._id, code, event: run.event };
    // A failure of a run caused by a function's failure causes no more runs, to prevent endless loops.
    const depth = OF_FUNCTION.test(run.input ?? '') ? MAX_TRIGGER_DEPTH : run.depth;
    const stamp = { by: functionActorId(details.function), request: requestIdForWrites(run._id, depth) };
    await activity.record('system.run.attempt-failed', details, stamp);
    if (dueAt === null) await activity.record('system.run.failed', details, stamp);
    this.#deps.onEnd({ ...run, ...fields, error, state: dueAt === null ? 'failed' : 'pending' });
    return { dueAt, hasNext };
  }

  /**
   * Releases the next run of a FIFO group.
   * @returns whether there is one
   */
  async #goOn({ line }: RunRow): Promise<boolean> {
    const { store, now } = this.#deps;
    return line !== undefined && (await this.#persist(() => store.releaseNext(line, new Date(now()))));
  }

  /** Retries a write until the database accepts it, or this process ends. */
  async #persist<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (this.#deps.signal.aborted) throw error;
        await pause(BACK_MS, undefined, { signal: this.#deps.signal }).catch(() => undefined);
      }
    }
  }
}

function outcomeOf(end: AttemptResult): RunOutcome {
  if (end.kind === 'ok') return end.conflicts > 0 ? 'conflict' : 'smooth';
  if (end.kind !== 'failed') return 'other';
  if (end.error.code === 'function-timeout') return 'timeout';
  return end.error.code === 'write-conflict' ? 'conflict' : 'other';
}
