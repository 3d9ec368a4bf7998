/** The transitions of a queued run: planned, attempted, pending again. Pure. */
import { createHash } from 'node:crypto';
import { retryPause } from '../../../queue/worker.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';
import type { RunError } from '../../runs/run.ts';
import { omitOversizedText, type RunRow, runExpiry } from '../../runs/run-row.ts';

/** Milliseconds after which a failed run is tried again, by attempt. A run of which more have failed has failed. */
const PAUSES_MS = [1_000, 10_000, 60_000, 600_000] as const;

/** Kinds of functions whose runs are queued. */
export const QUEUED_KINDS = ['trigger', 'cron', 'job'] as const;

/** The id of a run is derived from its function and cause, so that a second insert changes nothing. */
export function runIdFor(fn: string, cause: string): string {
  const hash = createHash('sha256').update(`${fn} ${cause}`).digest('base64url');
  return `run_${hash.slice(0, 22)}`;
}

/** A planned run. */
export interface PlannedRun {
  readonly id: string;
  readonly fn: Pick<PluginFunction, 'name' | 'plugin' | 'options'>;
  /** JSON text. */
  readonly input: string;
  readonly depth: number;
  /** Whether the input contains user data. */
  readonly restricted: boolean;
  readonly now: Date;
  /** Null while an earlier run of the same FIFO group may be unfinished. */
  readonly dueAt: Date | null;
  readonly more?: Partial<Pick<RunRow, 'event' | 'position' | 'line' | 'scheduledAt'>>;
}

/** A pending run. */
export function createPendingRun({ id, fn, input, depth, restricted, now, dueAt, more = {} }: PlannedRun): RunRow {
  const { text, bytes } = omitOversizedText(input);
  return {
    _id: id,
    plugin: fn.plugin.name,
    function: fn.name,
    version: fn.plugin.version,
    kind: fn.options.kind,
    state: 'pending',
    createdAt: now,
    startedAt: null,
    durationMs: null,
    cpuMs: null,
    attempts: 0,
    event: null,
    error: null,
    restricted,
    logs: [],
    operations: [],
    input: text,
    inputBytes: bytes,
    result: null,
    resultBytes: 0,
    depth,
    token: null,
    ...(dueAt === null ? {} : { dueAt }),
    ...more,
  };
}

/** A run that is stored only to show administrators that it does not run, and why. */
export function createSkippedRun(planned: PlannedRun, error: RunError): RunRow {
  const { dueAt: _dueAt, line: _line, ...row } = createPendingRun(planned);
  return { ...row, state: 'skipped', error, expireAt: runExpiry(planned.now) };
}

/** When a run is tried again of which so many attempts have failed; null after the last attempt. */
export function nextAttemptAt(attempts: number, now: Date): Date | null {
  const pause = retryPause(PAUSES_MS, attempts);
  return pause === null ? null : new Date(now.getTime() + pause);
}

/** The function of a run: `plugin/name`. */
export function functionIdOf(run: Pick<RunRow, 'plugin' | 'function'>): string {
  return `${run.plugin}/${run.function}`;
}

/** The principal of a function as it is stored with its changes. */
export function functionActorId(id: string): string {
  return `function:${id}`;
}
