/**
 * A run as it is stored in `<db>_log.runs`, and as it is shown. Types and pure functions. Not here: reads and writes
 * (run-store.ts, and what the queue does with the same rows).
 */
import { randomBytes } from 'node:crypto';
import type { LogPosition } from '../../events/log/position.ts';
import type { Run, RunDetails } from './run.ts';

/** Name of the collection in `<db>_log`. */
export const RUNS = 'runs';

/** The longest input and result that are kept, in bytes of JSON. */
export const MAX_DETAIL_BYTES = 256 * 1024;

const KEPT_MS = 30 * 24 * 3_600_000;

export interface RunRow extends Omit<Run, 'id' | 'restricted'>, RunDetails {
  readonly _id: string;
  /** Missing in rows of earlier versions. */
  readonly restricted?: boolean;
  /** How many triggers led to it. */
  readonly depth: number;
  /** Of a trigger: the place of its event in the log. */
  readonly position?: LogPosition;
  /** Of a trigger: the runs of one line go one after the other, in the order of their positions. */
  readonly line?: string;
  /** Of a cron and of a job: the time that it was planned for. */
  readonly scheduledAt?: Date;
  /**
   * Of a run that the queue runs, until it has ended: when it is to be run. While it is running, when the lease of the
   * process ends that has taken it.
   */
  readonly dueAt?: Date;
  /** How often an attempt was interrupted through no fault of the function; such attempts are not counted. */
  readonly interruptions?: number;
  /** Made anew for each attempt: only who has it may end the run. Null while nobody runs it. */
  readonly token?: string | null;
  /** When it is deleted. Every run that has ended has it. */
  readonly expireAt?: Date;
}

/** What a list reads of a run. */
export type ListedRun = Omit<RunRow, keyof RunDetails>;

/** An id for a run that is not derived from what it is for. */
export function newRunId(): string {
  return `run_${randomBytes(16).toString('base64url')}`;
}

/** When a run is deleted that ended at `end`. */
export function runExpiry(end: Date): Date {
  return new Date(end.getTime() + KEPT_MS);
}

/** A text as it is kept: null when it is longer than {@link MAX_DETAIL_BYTES}, with its size in bytes. */
export function keptText(text: string | null): { readonly text: string | null; readonly bytes: number } {
  const bytes = text === null ? 0 : Buffer.byteLength(text);
  return { text: bytes > MAX_DETAIL_BYTES ? null : text, bytes };
}

/** A run of an earlier version counts as restricted if it may be one. */
export function isRestricted({ restricted, kind }: Pick<RunRow, 'restricted' | 'kind'>): boolean {
  return restricted ?? kind === 'trigger';
}

export function toRun(row: ListedRun): Run {
  const { _id: id, plugin, version, kind, state, createdAt, startedAt, durationMs, cpuMs, attempt, event, error } = row;
  return {
    id,
    plugin,
    function: row.function,
    version,
    kind,
    state,
    createdAt,
    startedAt,
    durationMs,
    cpuMs,
    attempt,
    event,
    error,
    restricted: isRestricted(row),
  };
}

export function toDetails({ logs, operations, input, inputBytes, result, resultBytes }: RunDetails): RunDetails {
  return { logs, operations, input, inputBytes, result, resultBytes };
}

/** About as many bytes as a run takes in memory and in the database. */
export function bytesOf({ input, result, logs, operations, error }: RunRow): number {
  const texts = [input, result, error?.message, error?.stack, ...logs.map(({ text }) => text)];
  return texts.reduce((total, text) => total + (text?.length ?? 0), 1_000 + 200 * (logs.length + operations.length));
}
