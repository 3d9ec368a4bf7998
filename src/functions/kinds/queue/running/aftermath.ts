/**
 * What an attempt leaves: the run that waits for its next attempt or is parked, the events that tell of it, and the next run of
 * its line, which may go on. Also for runs whose process died. Not here: the attempt itself (attempt.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Activity } from '../../../../database/activity.ts';
import { MAX_CHAIN, publicCode, type RunError, requestOfRun } from '../../../runs/run.ts';
import { isRestricted, type RunRow } from '../../../runs/run-row.ts';
import type { AttemptEnd } from './attempt.ts';
import type { AttemptFields, QueueStore } from './queue-store.ts';
import { actorOfFunction, functionOf, nextAttemptAt } from './queued-run.ts';
import type { Course } from './run-slots.ts';

/** When a run is due again that was given back, in milliseconds. */
const BACK_MS = 1_000;
/** The same for one that was interrupted again and again. */
const MOST_BACK_MS = 60_000;
/** The event that a run was made of, if it tells of a function: the input begins with its id and type. */
const OF_FUNCTION = /^\{"id":"[\d-]+","type":"system\.function\./;

const DIED: RunError = {
  code: 'function-runtime-restarted',
  message: 'The process that ran it has ended',
  stack: null,
};

export interface AftermathParts {
  readonly store: Pick<QueueStore, 'fail' | 'giveBack' | 'releaseNext' | 'left'>;
  readonly activity: Activity;
  /** Called with each run that has ended, or failed and waits. */
  readonly onEnd: (run: RunRow) => void;
  readonly now: () => number;
  /** Ends waiting for a database that is away. */
  readonly signal: AbortSignal;
}

/** What there is to do after an attempt. */
export interface After {
  /** How it went. */
  readonly course: Course;
  /** When the run is due again; null when it has ended. */
  readonly dueAt: Date | null;
  /** Whether the next run of its line is due now. */
  readonly hasNext: boolean;
}

export class Aftermath {
  readonly #parts: AftermathParts;

  constructor(parts: AftermathParts) {
    this.#parts = parts;
  }

  /**
   * An attempt that was interrupted does not count, whatever interrupted it.
   * @param isStopping whether this process ends: then the run is due at once
   */
  async of(run: RunRow, token: string, end: AttemptEnd, isStopping: boolean): Promise<After> {
    const { store, now } = this.#parts;
    if (end.kind === 'not-tried' || end.kind === 'interrupted') {
      const isInterrupted = end.kind === 'interrupted' && !isStopping;
      const { interruptions = 0 } = run;
      const pause = isInterrupted ? Math.min(MOST_BACK_MS, BACK_MS * 2 ** interruptions) : BACK_MS;
      const dueAt = new Date(now() + (end.kind === 'interrupted' && isStopping ? 0 : pause));
      // Until the database can be reached it cannot be given back; who runs the queue next takes it over.
      await this.#persist(() => store.giveBack(run._id, token, dueAt, isInterrupted));
      return { course: 'other', dueAt, hasNext: false };
    }
    if (end.kind === 'lost') return { course: 'other', dueAt: null, hasNext: false };
    const course = courseOf(end);
    if (end.kind === 'failed') return { course, ...(await this.#failed({ ...run, token }, end.fields, end.error)) };
    const hasNext = await this.#goOn(run);
    this.#parts.onEnd({ ...run, ...end.fields, state: 'ok' });
    return { course, dueAt: null, hasNext };
  }

  /**
   * Takes over the runs of processes that have ended: an attempt that its process did not survive has failed.
   * @param own tokens of the runs that this process runs itself
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
    for (const run of await this.#parts.store.left(own)) {
      // Most such runs did nothing wrong, so they need not wait.
      await this.#failed(run, fields, DIED, new Date(this.#parts.now()));
    }
  }

  /** Notes a failed attempt. @param soon when the run is due again, if not by how often it has failed */
  async #failed(run: RunRow, fields: AttemptFields, error: RunError, soon?: Date): Promise<Omit<After, 'course'>> {
    const { store, activity } = this.#parts;
    const now = new Date(this.#parts.now());
    const next = nextAttemptAt(run.attempt, now);
    const dueAt = next === null ? null : (soon ?? next);
    const isOurs = await this.#persist(() => store.fail(run._id, run.token ?? '', { ...fields, error }, dueAt, now));
    if (!isOurs) return { dueAt: null, hasNext: false };
    const hasNext = dueAt === null && (await this.#goOn(run));
    const code = isRestricted(run) ? publicCode(error) : error.code;
    const details = { function: functionOf(run), run: run._id, code, event: run.event };
    // A failure over the failure of a function makes no more runs: they would make each other for ever.
    const depth = OF_FUNCTION.test(run.input ?? '') ? MAX_CHAIN : run.depth;
    const stamp = { by: actorOfFunction(details.function), request: requestOfRun(run._id, depth) };
    await activity.record('system.function.failed', details, stamp);
    if (dueAt === null) await activity.record('system.function.parked', details, stamp);
    this.#parts.onEnd({ ...run, ...fields, error, state: dueAt === null ? 'parked' : 'waiting' });
    return { dueAt, hasNext };
  }

  /** Lets the next run of a line go on. @returns whether there is one */
  async #goOn({ line }: RunRow): Promise<boolean> {
    const { store, now } = this.#parts;
    return line !== undefined && (await this.#persist(() => store.releaseNext(line, new Date(now()))));
  }

  /** Tries a write until the database takes it, or this process ends. */
  async #persist<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (this.#parts.signal.aborted) throw error;
        await pause(BACK_MS, undefined, { signal: this.#parts.signal }).catch(() => undefined);
      }
    }
  }
}

function courseOf(end: AttemptEnd): Course {
  if (end.kind === 'ok') return end.conflicts > 0 ? 'conflict' : 'smooth';
  if (end.kind !== 'failed') return 'other';
  if (end.error.code === 'function-timeout') return 'timeout';
  return end.error.code === 'contention' ? 'conflict' : 'other';
}
