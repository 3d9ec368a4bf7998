/** A run as it is stored in `<db>_log.runs`, and as it is shown. Types and pure functions. */
import { randomBytes } from 'node:crypto';
import type { LogPosition } from '../../events/log/position.ts';
import type { JobRow } from '../../queue/job-collection.ts';
import type { Run, RunDetails } from './run.ts';

/** Name of the collection in `<db>_log`. */
export const RUNS_COLLECTION = 'runs';

/** The longest input and result that are stored, in bytes of JSON. */
export const MAX_STORED_TEXT_BYTES = 256 * 1024;

const RETENTION_MS = 30 * 24 * 3_600_000;

/** Every ended run has an `expireAt`. */
export interface RunRow extends JobRow, Omit<Run, 'id' | 'restricted' | 'state'>, RunDetails {
  /** Absent in rows of earlier versions. */
  readonly restricted?: boolean;
  /** The number of triggers that led to it. */
  readonly depth: number;
  /** Of a trigger: the log position of its event. */
  readonly position?: LogPosition;
  /** Of a trigger: the FIFO group, whose runs execute one after the other, in the order of their positions. */
  readonly line?: string;
  /** Of a cron job and of a job: the scheduled time. */
  readonly scheduledAt?: Date;
  /** How often an attempts was interrupted through no fault of the function; such attempts are not counted. */
  readonly interruptions?: number;
}

/** The fields that lists read. */
export type ListedRun = Omit<RunRow, keyof RunDetails>;

/** An id for a run that is not derived from its cause. */
export function newRunId(): string {
  return `run_${randomBytes(16).toString('base64url')}`;
}

/** When a run that ended at `end` is deleted. */
export function runExpiry(end: Date): Date {
  return new Date(end.getTime() + RETENTION_MS);
}

/** A text as it is stored: null if it is longer than {@link MAX_STORED_TEXT_BYTES}, with its size in bytes. */
export function omitOversizedText(text: string | null): { readonly text: string | null; readonly bytes: number } {
  const bytes = text === null ? 0 : Buffer.byteLength(text);
  return { text: bytes > MAX_STORED_TEXT_BYTES ? null : text, bytes };
}

/** A run of an earlier version counts as restricted if it may be one. */
export function isRestrictedRun({ restricted, kind }: Pick<RunRow, 'restricted' | 'kind'>): boolean {
  return restricted ?? kind === 'trigger';
}

export function toRun(row: ListedRun): Run {
  const {
    _id: id,
    plugin,
    version,
    kind,
    state,
    createdAt,
    startedAt,
    durationMs,
    cpuMs,
    attempts,
    event,
    error,
  } = row;
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
    attempts,
    event,
    error,
    restricted: isRestrictedRun(row),
  };
}

export function toRunDetails({ logs, operations, input, inputBytes, result, resultBytes }: RunDetails): RunDetails {
  return { logs, operations, input, inputBytes, result, resultBytes };
}

/** The approximate size of a run in memory and in the database, in bytes. */
export function runSizeBytes({ input, result, logs, operations, error }: RunRow): number {
  const texts = [input, result, error?.message, error?.stack, ...logs.map(({ text }) => text)];
  return texts.reduce((total, text) => total + (text?.length ?? 0), 1_000 + 200 * (logs.length + operations.length));
}
