/** The end of a run as it is stored: state, error and result of the sandbox outcome. Pure. */

import type { PluginFunction } from '../plugins/plugin.ts';
import { callRedactor, type Redactor } from '../plugins/redaction.ts';
import type { CallOutcome, LogLine } from '../sandbox/sandbox.ts';
import type { OperationRecord, RunError, RunState } from './run.ts';
import { omitOversizedText, type RunRow, runExpiry } from './run-row.ts';

/** The executed call. */
export interface CallToRecord {
  readonly id: string;
  readonly fn: PluginFunction;
  /** JSON text. */
  readonly input: string;
  /** Texts that are redacted like secrets of the plugin. */
  readonly hidden?: readonly string[];
  readonly attempt: number;
  readonly depth: number;
  /** The rate-limit key of the caller. */
  readonly client: string;
}

/** The outcome of one attempt. */
export interface RunReport {
  readonly outcome: CallOutcome;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly logs: readonly LogLine[];
  readonly operations: readonly OperationRecord[];
}

/** `succeeded`, `failed`, or `rejected` by a Refusal. */
export function toRunState({ kind }: CallOutcome): Extract<RunState, 'succeeded' | 'failed' | 'rejected'> {
  if (kind === 'error') return 'failed';
  return kind === 'refusal' ? 'rejected' : 'succeeded';
}

/** Null for a successful run. */
export function toRunError(outcome: CallOutcome): RunError | null {
  if (outcome.kind === 'error') return { code: outcome.code, message: outcome.message, stack: outcome.stack };
  if (outcome.kind !== 'refusal') return null;
  return { code: outcome.code ?? 'rejected-by-function', message: outcome.message, stack: null };
}

/** The returned value as JSON text; null if nothing was returned. */
export function toRunResult(outcome: CallOutcome): string | null {
  if (outcome.kind === 'value') return outcome.value;
  return outcome.kind === 'response' ? JSON.stringify(outcome.response) : null;
}

function keptResult(outcome: CallOutcome, blank: Redactor): string | null {
  const result = toRunResult(outcome);
  return result === null ? null : blank(result);
}

/** The row of a run that is stored when it has ended. */
export function toEndedRunRow({ id, fn, input, hidden, attempt, depth }: CallToRecord, report: RunReport): RunRow {
  const { outcome, startedAt, durationMs, logs, operations } = report;
  const blank = callRedactor(fn.plugin, hidden);
  const kept = omitOversizedText(blank(input));
  const result = omitOversizedText(keptResult(outcome, blank));
  return {
    _id: id,
    plugin: fn.plugin.name,
    function: fn.name,
    version: fn.plugin.version,
    kind: fn.options.kind,
    state: toRunState(outcome),
    createdAt: startedAt,
    startedAt,
    durationMs,
    cpuMs: outcome.cpuMs,
    attempts: attempt,
    event: null,
    error: toRunError(outcome),
    restricted: false,
    depth,
    logs,
    operations,
    input: kept.text,
    inputBytes: kept.bytes,
    result: result.text,
    resultBytes: result.bytes,
    expireAt: runExpiry(new Date(startedAt.getTime() + durationMs)),
  };
}
