/**
 * One attempt of a run: all writes of the function and the completion of the run, in one transaction. So it takes
 * effect once or not at all, whatever crashes and whichever other process runs the same run.
 */
import type { TransactionRunner } from '../../../collections/transaction-runner.ts';
import { MillraceError } from '../../../lib/errors.ts';
import type { CallReport, FunctionInvoker } from '../../calling/call-types.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';
import { pluginRedactor } from '../../plugins/redaction.ts';
import type { RunError } from '../../runs/run.ts';
import { toRunError, toRunResult } from '../../runs/run-result.ts';
import { isRestrictedRun, omitOversizedText, type RunRow } from '../../runs/run-row.ts';
import type { LogLine } from '../../sandbox/sandbox.ts';
import type { AttemptResultFields, QueueStore } from './queue-store.ts';
import { functionIdOf } from './queued-run-transitions.ts';

/** A transaction may be open for 60 seconds; the database aborts an older one within half a minute. */
const OPEN_MS = 60_000;
/** Not errors of the function: the run is released, and the attempt does not count. */
const NOT_TRIED: ReadonlySet<string> = new Set(['database-unavailable', 'function-quarantined', 'functions-disabled']);

export interface AttemptDeps {
  readonly store: Pick<QueueStore, 'holdsLease' | 'succeed'>;
  readonly calling: FunctionInvoker;
  readonly atomic: () => Promise<TransactionRunner>;
  readonly onLog: (run: RunRow, line: LogLine) => void;
  readonly now: () => number;
  /** Called with unexpected errors. */
  readonly onError: (error: unknown) => void;
}

export type AttemptResult =
  /** Its writes and its completion are committed. `conflicts`: number of restarts. */
  | { readonly kind: 'ok'; readonly fields: AttemptResultFields; readonly conflicts: number }
  | { readonly kind: 'failed'; readonly fields: AttemptResultFields; readonly error: RunError }
  /** Another process has leased the run. */
  | { readonly kind: 'lost' }
  /** Something other than the function ended its sandbox. */
  | { readonly kind: 'interrupted' }
  /** The function could not be called, or the database became unavailable. */
  | { readonly kind: 'not-tried'; readonly cause: unknown };

/** Rolls back the transaction of a failed call. */
class CallFailed extends Error {
  readonly report: CallReport;

  constructor(report: CallReport) {
    super('The function failed');
    this.report = report;
  }
}

/** Rolls back the transaction of a run whose lease was lost. */
class RunLost extends Error {}

/** @param token of the lease */
export async function attemptRun(
  fn: PluginFunction,
  run: RunRow,
  token: string,
  deps: AttemptDeps,
): Promise<AttemptResult> {
  const { store, calling, now } = deps;
  const began = performance.now();
  let times = 0;
  try {
    const atomic = await deps.atomic();
    const report = await atomic.run(async (within) => {
      times += 1;
      // Restarts because another process changed something: perhaps this run.
      if (times > 1 && !(await store.holdsLease(run._id, token))) throw new RunLost();
      const created = await calling.call({
        fn,
        input: run.input ?? 'null',
        run: { id: run._id, attempt: run.attempts, depth: run.depth, restricted: isRestrictedRun(run) },
        caller: null,
        within,
        mayWrite: true,
        onLog: (line) => deps.onLog(run, line),
      });
      if (toRunError(created.outcome) !== null) throw new CallFailed(created);
      const isOurs = await store.succeed(within.session, run._id, token, fieldsOf(created, null, fn), new Date(now()));
      if (!isOurs) throw new RunLost();
      return created;
    });
    return { kind: 'ok', fields: fieldsOf(report, null, fn), conflicts: times - 1 };
  } catch (error) {
    if (error instanceof RunLost) return { kind: 'lost' };
    if (error instanceof CallFailed) {
      const issue = toRunError(error.report.outcome) ?? unknownError();
      if (issue.code === 'function-runtime-restarted') return { kind: 'interrupted' };
      return { kind: 'failed', fields: fieldsOf(error.report, issue, fn), error: issue };
    }
    if (error instanceof MillraceError && NOT_TRIED.has(error.code)) return { kind: 'not-tried', cause: error };
    const durationMs = performance.now() - began;
    const cause = issueOf(error, durationMs, functionIdOf(run));
    if (cause.code === 'internal') deps.onError(error);
    return { kind: 'failed', fields: fieldsWithout(cause, durationMs), error: cause };
  }
}

/** Why a successful call was not committed. */
function issueOf(error: unknown, durationMs: number, fn: string): RunError {
  if (!(error instanceof MillraceError))
    return { code: 'internal', message: 'The run could not be committed', stack: null };
  if (error.code === 'write-conflict' && durationMs >= OPEN_MS - 5_000) {
    const message = `${fn} took longer than its writes can wait to be committed (${OPEN_MS / 1_000} seconds)`;
    return { code: 'function-timeout', message, stack: null };
  }
  return { code: error.code, message: error.message, stack: null };
}

function unknownError(): RunError {
  return { code: 'function-failed', message: 'The function failed', stack: null };
}

function fieldsOf(report: CallReport, error: RunError | null, { plugin }: PluginFunction): AttemptResultFields {
  const { outcome, durationMs, logs, operations } = report;
  const returned = toRunResult(outcome);
  const { text: result, bytes: resultBytes } = omitOversizedText(
    returned === null ? null : pluginRedactor(plugin)(returned),
  );
  return { durationMs, cpuMs: outcome.cpuMs, error, logs, operations, result, resultBytes };
}

function fieldsWithout(error: RunError, durationMs: number): AttemptResultFields {
  return { durationMs, cpuMs: null, error, logs: [], operations: [], result: null, resultBytes: 0 };
}
