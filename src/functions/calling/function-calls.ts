/**
 * Calls functions in the sandbox: chooses the principal, gives the call its host and its limits, and reports what came of it,
 * without the secrets of the plugin. Not here: when a function is called (kinds/), and where runs are kept (runs/).
 */
import type { Egress } from '../../egress/egress.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { type Blank, blankingOf } from '../plugins/blanking.ts';
import { type OperationNote, requestOfRun } from '../runs/run.ts';
import type { CallOutcome, RunLimits, Sandbox } from '../sandbox/sandbox.ts';
import { CallLogs } from './call-logs.ts';
import { principalFacts, principalOf } from './call-principal.ts';
import type { Calling, CallReport, FunctionCall } from './calling.ts';
import type { Argument } from './host/argument.ts';
import { CallHost } from './host/call-host.ts';
import { type DocumentParts, documentActions } from './host/document-actions.ts';
import { fetchAction } from './host/fetch-action.ts';
import { type FileActionParts, fileActions } from './host/file-actions.ts';
import type { Acting, HostActions } from './host/host-action.ts';
import type { JobScheduler } from './host/job-scheduler.ts';
import { pluginActions } from './host/plugin-actions.ts';

const CPU_MS = 1_000;
const HEAP_MB = 64;
const MAX_TARGET = 200;

export interface FunctionCallsParts extends DocumentParts, FileActionParts {
  /** Null where functions are switched off. */
  readonly sandbox: Pick<Sandbox, 'call'> | null;
  readonly egress: Pick<Egress, 'fetch'>;
  readonly jobs: JobScheduler;
  readonly now: () => Date;
  /** Told of errors that nobody expects. */
  readonly onError: (error: unknown) => void;
}

/** What a call does otherwise when it is only tried. */
export interface Pretence {
  /** Takes the place of the queue. */
  readonly jobs: JobScheduler;
  /** Told of each operation with its argument, when it has ended. */
  readonly onDone: (note: OperationNote, argument: Argument | null) => void;
}

export class FunctionCalls implements Calling {
  readonly #parts: FunctionCallsParts;

  constructor(parts: FunctionCallsParts) {
    this.#parts = parts;
  }

  call(call: FunctionCall): Promise<CallReport> {
    if (call.fn.isQuarantined) {
      throw new MillraceError('function-quarantined', `The function ${call.fn.id} is in quarantine`);
    }
    return this.#call(call, null);
  }

  /** Calls a function that is only tried: files and jobs are not made. The caller rolls the transaction back. */
  pretend(call: FunctionCall, pretence: Pretence): Promise<CallReport> {
    return this.#call(call, pretence);
  }

  async #call(call: FunctionCall, pretence: Pretence | null): Promise<CallReport> {
    const { sandbox, now, onError } = this.#parts;
    if (sandbox === null) throw new MillraceError('functions-off', 'Functions are switched off on this server');
    const { fn, run, within, mayWrite } = call;
    const { plugin } = fn;
    const startedAt = now();
    const begun = performance.now();
    const principal = principalOf(fn, call.caller);
    const blank = blankingOf(plugin, call.hidden);
    const logs = new CallLogs(blank, call.onLog);
    const operations: OperationNote[] = [];
    const host = new CallHost({
      actions: this.#actions(call, { principal, request: requestOfRun(run.id, run.depth), within }, pretence),
      within,
      mayWrite,
      onError,
      onDone: (note, argument) => {
        // Cut afterwards: a part of a secret would not be known as one.
        const shown = { ...note, target: blank(note.target).slice(0, MAX_TARGET) };
        operations.push(shown);
        pretence?.onDone(shown, argument);
      },
    });
    let outcome: CallOutcome;
    try {
      outcome = await sandbox.call({
        bundle: plugin.bundle,
        file: fn.file,
        kind: fn.use.kind,
        input: call.input,
        facts: {
          principal: principalFacts(principal),
          run: { id: run.id, key: run.id, attempt: run.attempt, function: fn.id, version: plugin.version },
          secrets: plugin.secrets,
        },
        limits: limitsOf(fn.timeoutMs),
        host: (operation, argument) => host.run(operation, argument),
        onLog: logs.add,
      });
    } finally {
      await host.end();
    }
    // To the microsecond, as CPU time is counted: the clock has digits that mean nothing.
    const durationMs = Math.round((performance.now() - begun) * 1_000) / 1_000;
    const kept = blanked(ended(outcome, host.verdict()), blank);
    return { outcome: kept, startedAt, durationMs, logs: logs.lines, operations };
  }

  #actions({ fn, run }: FunctionCall, acting: Acting, pretence: Pretence | null): HostActions {
    const { egress, now } = this.#parts;
    const { depth, restricted } = run;
    const jobs = pretence?.jobs ?? this.#parts.jobs;
    const scheduling = { jobs, depth, restricted, now: () => now().getTime() };
    return {
      ...documentActions(this.#parts, acting),
      ...fileActions(this.#parts, acting, pretence !== null),
      ...fetchAction(egress, fn),
      ...pluginActions(fn, acting, scheduling),
    };
  }
}

function limitsOf(wallMs: number): RunLimits {
  return { wallMs, cpuMs: CPU_MS, heapMb: HEAP_MB };
}

/** A call whose transaction cannot be committed has failed, whatever its code made of the error. */
function ended(outcome: CallOutcome, refused: MillraceError | null): CallOutcome {
  if (refused === null || outcome.kind === 'fault') return outcome;
  const message = `${refused.code}: ${refused.message}. The database had ended the transaction, so nothing of the run is stored`;
  return { kind: 'fault', code: 'function-failed', message, stack: null, cpuMs: outcome.cpuMs };
}

/** Values and answers stay as they are: they are for the one who called. They are blanked where they are kept (runs/). */
function blanked(outcome: CallOutcome, blank: Blank): CallOutcome {
  if (outcome.kind === 'refusal') {
    const [code, pointer] = [outcome.code, outcome.pointer].map((text) => text && blank(text));
    return { ...outcome, message: blank(outcome.message), code: code ?? null, pointer: pointer ?? null };
  }
  if (outcome.kind !== 'fault') return outcome;
  return { ...outcome, message: blank(outcome.message), stack: outcome.stack === null ? null : blank(outcome.stack) };
}
