/**
 * A run: one execution of a function as owners see it and as it is stored in `<db>_log.runs`. Runs of triggers, crons and
 * jobs are stored before they begin: they are the queue as well. Not here: how they are stored and taken.
 */
import { ERRORS } from '../../kernel/errors.ts';
import type { FunctionKind, LogLine } from '../sandbox/sandbox.ts';

/**
 * `waiting` has not begun, or waits for its next attempt. `parked`: all attempts failed. `refused`: by a Refusal of a
 * `before`, or at the end of a chain of triggers.
 */
export const RUN_STATES = ['waiting', 'running', 'ok', 'failed', 'parked', 'refused'] as const;

export type RunState = (typeof RUN_STATES)[number];

export interface RunError {
  /** A code of errors.ts, or one that the code gave to a Refusal. */
  readonly code: string;
  readonly message: string;
  readonly stack: string | null;
}

/** One operation of the host in a run, without values. */
export interface OperationNote {
  readonly operation: string;
  /** What it was about: `orders/65f…`, or the host of a fetch. */
  readonly target: string;
  readonly durationMs: number;
  /** An error's code; null when it was done. */
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
  /** 1 for the first. */
  readonly attempt: number;
  /** Id of the event of a trigger; null for others. */
  readonly event: string | null;
  readonly error: RunError | null;
  /**
   * Whether it was given something of accounts: then content and messages are for those who may read accounts, and code gets
   * it only if it may read accounts, too. Set when the run is stored, from its event, and never changed.
   */
  readonly restricted: boolean;
}

/** What one run shows besides, bounded: a longer input or result is null and its size is told. */
export interface RunDetails {
  readonly logs: readonly LogLine[];
  readonly operations: readonly OperationNote[];
  /** JSON text. */
  readonly input: string | null;
  readonly inputBytes: number;
  readonly result: string | null;
  readonly resultBytes: number;
}

/** How long a chain of triggers may get: a run whose writes would be told at this depth is refused. */
export const MAX_CHAIN = 8;

/**
 * The request id of what a run writes. It carries the depth of the run, so that the events of its writes say how long the
 * chain of triggers is that led to them.
 */
export function requestOfRun(run: string, depth: number): string {
  return `${run}.${depth}`;
}

/** The depth of the run that made a change; 0 for a change that no run made. */
export function depthOf(request: string | null): number {
  const depth = /^run_[\w-]+\.(\d{1,2})$/.exec(request ?? '')?.[1];
  return depth === undefined ? 0 : Number(depth);
}

const HIDDEN = 'Not shown: it may contain data of accounts';

/** A run for somebody who may not read accounts: without what its code said of its failure. */
export function withoutAccounts(run: Run): Run {
  if (!run.restricted || run.error === null) return run;
  return { ...run, error: { code: publicCode(run.error), message: HIDDEN, stack: null } };
}

/** The code of an error, unless the code of a function has chosen it. */
export function publicCode({ code }: Pick<RunError, 'code'>): string {
  return Object.hasOwn(ERRORS, code) ? code : 'refused-by-function';
}
