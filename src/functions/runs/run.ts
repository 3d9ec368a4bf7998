/**
 * A run: one execution of a function as administrators see it and as it is stored in `<db>_log.runs`. Runs of triggers, cron jobs
 * and jobs are stored before they start: they are the queue as well.
 */
import { ERRORS } from '../../lib/errors.ts';
import type { FunctionKind, LogLine } from '../sandbox/sandbox.ts';

/**
 * `pending`: before its first or its next attempt. `failed`: after its last attempt. `skipped`: it overlapped an earlier run, or
 * ended a chain of triggers. `rejected`: a write hook rejected its write with a Refusal.
 */
export const RUN_STATES = ['pending', 'running', 'succeeded', 'failed', 'canceled', 'skipped', 'rejected'] as const;

export type RunState = (typeof RUN_STATES)[number];

export interface RunError {
  /** A code of errors.ts, or one that the code gave to a Refusal. */
  readonly code: string;
  readonly message: string;
  readonly stack: string | null;
}

/** One host operation of a run, without values. */
export interface OperationRecord {
  readonly operation: string;
  /** Its target: `orders/65f…`, or the host of a fetch. */
  readonly target: string;
  readonly durationMs: number;
  /** The error code; null if it succeeded. */
  readonly error: string | null;
}

export interface Run {
  readonly id: string;
  readonly plugin: string;
  /** Its name inside the plugin. */
  readonly function: string;
  readonly version: string;
  readonly kind: FunctionKind;
  readonly state: RunState;
  readonly createdAt: Date;
  /** Of the last attempt; null before the first. */
  readonly startedAt: Date | null;
  readonly durationMs: number | null;
  readonly cpuMs: number | null;
  /** How many attempts have begun. */
  readonly attempts: number;
  /** Id of the event of a trigger; null for others. */
  readonly event: string | null;
  readonly error: RunError | null;
  /**
   * Whether its input contains user data: then content and messages require the right to read users, and code receives the run
   * only if it may read users, too. Set when the run is stored, from its event, and never changed.
   */
  readonly restricted: boolean;
}

/** Additional fields of a single run, bounded: a longer input or result is null, with its size. */
export interface RunDetails {
  readonly logs: readonly LogLine[];
  readonly operations: readonly OperationRecord[];
  /** JSON text. */
  readonly input: string | null;
  readonly inputBytes: number;
  readonly result: string | null;
  readonly resultBytes: number;
}

/** Maximum length of a chain of triggers: a run whose writes would have this depth is skipped. */
export const MAX_TRIGGER_DEPTH = 8;

/**
 * The request id of a run's writes. It carries the depth of the run, so that the events of its writes tell the length of the
 * chain of triggers.
 */
export function requestIdForWrites(run: string, depth: number): string {
  return `${run}.${depth}`;
}

/** The depth of the run that caused a change; 0 for a change that no run caused. */
export function depthFromRequestId(request: string | null): number {
  const depth = /^run_[\w-]+\.(\d{1,2})$/.exec(request ?? '')?.[1];
  return depth === undefined ? 0 : Number(depth);
}

const HIDDEN = 'Not shown: it can contain data of users';

/** A run for an administrator without access to users: without the code's error message. */
export function redactRunError(run: Run): Run {
  if (!run.restricted || run.error === null) return run;
  return { ...run, error: { code: publicErrorCode(run.error), message: HIDDEN, stack: null } };
}

/** The code of an error, unless the code of a function has chosen it. */
export function publicErrorCode({ code }: Pick<RunError, 'code'>): string {
  return Object.hasOwn(ERRORS, code) ? code : 'rejected-by-function';
}
