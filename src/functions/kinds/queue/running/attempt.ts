/**
 * One attempt of a run: everything that the function writes, and the end of the run, in one transaction of the database. So it
 * has its effect once or not at all, whatever dies meanwhile and whoever else tries the same run. Not here: which run, and when
 * (run-dispatch.ts).
 */
import type { Atomic } from '../../../../collections/atomic.ts';
import { MillraceError } from '../../../../kernel/errors.ts';
import type { Calling, CallReport } from '../../../calling/calling.ts';
import { blanking } from '../../../plugins/blanking.ts';
import type { PluginFunction } from '../../../plugins/plugin.ts';
import { errorOf, resultOf } from '../../../runs/ended-run.ts';
import type { RunError } from '../../../runs/run.ts';
import { isRestricted, keptText, type RunRow } from '../../../runs/run-row.ts';
import type { LogLine } from '../../../sandbox/sandbox.ts';
import type { AttemptFields, QueueStore } from './queue-store.ts';
import { functionOf } from './queued-run.ts';

/** A transaction may be open for 60 seconds; the database ends an older one within half a minute. */
const OPEN_MS = 60_000;
/** No errors of the function: the run is given back, and the attempt does not count. */
const NOT_TRIED: ReadonlySet<string> = new Set(['database-unavailable', 'function-quarantined', 'functions-off']);

export interface AttemptNeeds {
  readonly store: Pick<QueueStore, 'holds' | 'succeed'>;
  readonly calling: Calling;
  readonly atomic: () => Promise<Atomic>;
  readonly onLog: (run: RunRow, line: LogLine) => void;
  readonly now: () => number;
  /** Called with errors that nobody expects. */
  readonly onError: (error: unknown) => void;
}

export type AttemptEnd =
  /** Its writes and its end are committed. `conflicts`: how often it began anew. */
  | { readonly kind: 'ok'; readonly fields: AttemptFields; readonly conflicts: number }
  | { readonly kind: 'failed'; readonly fields: AttemptFields; readonly error: RunError }
  /** Another process has taken the run. */
  | { readonly kind: 'lost' }
  /** Something else than the function ended what ran its code. */
  | { readonly kind: 'interrupted' }
  /** The function could not be called, or the database went away. */
  | { readonly kind: 'not-tried'; readonly cause: unknown };

/** Ends the transaction of a call that failed. */
class CallFailed extends Error {
  readonly report: CallReport;

  constructor(report: CallReport) {
    super('The function failed');
    this.report = report;
  }
}

/** Ends the transaction of a run that is no longer ours. */
class RunLost extends Error {}

/** @param token by which the run was taken */
export async function attempt(
  fn: PluginFunction,
  run: RunRow,
  token: string,
  needs: AttemptNeeds,
): Promise<AttemptEnd> {
  const { store, calling, now } = needs;
  const began = performance.now();
  let times = 0;
  try {
    const atomic = await needs.atomic();
    const report = await atomic.run(async (within) => {
      times += 1;
      // It begins anew because another process has changed something: perhaps this run.
      if (times > 1 && !(await store.holds(run._id, token))) throw new RunLost();
      const made = await calling.call({
        fn,
        input: run.input ?? 'null',
        run: { id: run._id, attempt: run.attempt, depth: run.depth, restricted: isRestricted(run) },
        caller: null,
        within,
        mayWrite: true,
        onLog: (line) => needs.onLog(run, line),
      });
      if (errorOf(made.outcome) !== null) throw new CallFailed(made);
      const isOurs = await store.succeed(within.session, run._id, token, fieldsOf(made, null, fn), new Date(now()));
      if (!isOurs) throw new RunLost();
      return made;
    });
    return { kind: 'ok', fields: fieldsOf(report, null, fn), conflicts: times - 1 };
  } catch (error) {
    if (error instanceof RunLost) return { kind: 'lost' };
    if (error instanceof CallFailed) {
      const fault = errorOf(error.report.outcome) ?? unknownError();
      if (fault.code === 'function-runtime-restarted') return { kind: 'interrupted' };
      return { kind: 'failed', fields: fieldsOf(error.report, fault, fn), error: fault };
    }
    if (error instanceof MillraceError && NOT_TRIED.has(error.code)) return { kind: 'not-tried', cause: error };
    const durationMs = performance.now() - began;
    const fault = faultOf(error, durationMs, functionOf(run));
    if (fault.code === 'internal') needs.onError(error);
    return { kind: 'failed', fields: fieldsWithout(fault, durationMs), error: fault };
  }
}

/** What kept a call that ended well from being committed. */
function faultOf(error: unknown, durationMs: number, fn: string): RunError {
  if (!(error instanceof MillraceError))
    return { code: 'internal', message: 'The run could not be committed', stack: null };
  if (error.code === 'contention' && durationMs >= OPEN_MS - 5_000) {
    const message = `${fn} took longer than its writes may wait to be committed (${OPEN_MS / 1_000} seconds)`;
    return { code: 'function-timeout', message, stack: null };
  }
  return { code: error.code, message: error.message, stack: null };
}

function unknownError(): RunError {
  return { code: 'function-failed', message: 'The function failed', stack: null };
}

function fieldsOf(report: CallReport, error: RunError | null, { plugin }: PluginFunction): AttemptFields {
  const { outcome, durationMs, logs, operations } = report;
  const returned = resultOf(outcome);
  const { text: result, bytes: resultBytes } = keptText(returned === null ? null : blanking(plugin)(returned));
  return { durationMs, cpuMs: outcome.cpuMs, error, logs, operations, result, resultBytes };
}

function fieldsWithout(error: RunError, durationMs: number): AttemptFields {
  return { durationMs, cpuMs: null, error, logs: [], operations: [], result: null, resultBytes: 0 };
}
