/**
 * Calls functions in the sandbox: chooses the principal, provides host operations and limits, and reports the redacted
 * outcome.
 */
import type { Egress } from '../../egress/egress.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { Plugin } from '../plugins/plugin.ts';
import { callRedactor, type Redactor } from '../plugins/redaction.ts';
import { type OperationRecord, requestIdForWrites } from '../runs/run.ts';
import type { CallOutcome, RunLimits, Sandbox } from '../sandbox/sandbox.ts';
import { CallLogs } from './call-logs.ts';
import { resolvePrincipal, toContextPrincipal } from './call-principal.ts';
import type { CallReport, FunctionCall, FunctionInvoker } from './call-types.ts';
import { type DocumentDeps, documentActions } from './host/document-actions.ts';
import { fetchAction } from './host/fetch-action.ts';
import { type FileActionDeps, fileActions } from './host/file-actions.ts';
import type { ActionContext, HostActions } from './host/host-action.ts';
import { HostApi } from './host/host-api.ts';
import type { JobScheduler } from './host/job-scheduler.ts';
import type { OperationArgument } from './host/operation-argument.ts';
import { pluginActions } from './host/secret-and-job-actions.ts';

const CPU_MS = 1_000;
const HEAP_MB = 64;
const MAX_TARGET = 200;

export interface FunctionRunnerDeps extends DocumentDeps, FileActionDeps {
  /** Null where functions are disabled. */
  readonly sandbox: Pick<Sandbox, 'call'> | null;
  readonly egress: Pick<Egress, 'fetch'>;
  readonly jobs: JobScheduler;
  readonly now: () => Date;
  /** Called with unexpected errors. */
  readonly onError: (error: unknown) => void;
}

/** Differences of a dry run. */
export interface DryRunOptions {
  /** Replaces the queue. */
  readonly jobs: JobScheduler;
  /** Called after each operation, with its argument. */
  readonly onDone: (log: OperationRecord, argument: OperationArgument | null) => void;
}

export class FunctionRunner implements FunctionInvoker {
  readonly #deps: FunctionRunnerDeps;

  constructor(deps: FunctionRunnerDeps) {
    this.#deps = deps;
  }

  call(call: FunctionCall): Promise<CallReport> {
    if (call.fn.isQuarantined) {
      throw new MillraceError('function-quarantined', `The function ${call.fn.id} is in quarantine`);
    }
    return this.#call(call, null);
  }

  /** Calls a function as a dry run: files and jobs are not created. The caller rolls the transaction back. */
  dryRun(call: FunctionCall, pretence: DryRunOptions): Promise<CallReport> {
    return this.#call(call, pretence);
  }

  async #call(call: FunctionCall, pretence: DryRunOptions | null): Promise<CallReport> {
    const { sandbox, now, onError } = this.#deps;
    if (sandbox === null) throw new MillraceError('functions-disabled', 'Functions are disabled on this server');
    const { fn, run, within, mayWrite } = call;
    const { plugin } = fn;
    const startedAt = now();
    const begun = performance.now();
    const principal = resolvePrincipal(fn, call.caller);
    const blank = callRedactor(plugin, call.hidden);
    const logs = new CallLogs(blank, call.onLog);
    const operations: OperationRecord[] = [];
    const host = new HostApi({
      actions: this.#actions(call, { principal, request: requestIdForWrites(run.id, run.depth), within }, pretence),
      within,
      mayWrite,
      onError,
      onDone: (log, argument) => {
        // Truncate after redacting: a truncated secret would not be recognized.
        const shown = { ...log, target: blank(log.target).slice(0, MAX_TARGET) };
        operations.push(shown);
        pretence?.onDone(shown, argument);
      },
    });
    let outcome: CallOutcome;
    try {
      outcome = await sandbox.call({
        bundle: plugin.bundle,
        // A dry run leaves nothing behind.
        group: pretence === null ? contextGroupOf(plugin, run.restricted) : null,
        file: fn.file,
        kind: fn.options.kind,
        input: call.input,
        facts: {
          principal: toContextPrincipal(principal),
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
    // To the microsecond, the precision of CPU time: the remaining digits of the clock are noise.
    const durationMs = Math.round((performance.now() - begun) * 1_000) / 1_000;
    const kept = blanked(ended(outcome, host.verdict()), blank);
    return { outcome: kept, startedAt, durationMs, logs: logs.lines, operations };
  }

  #actions({ fn, run }: FunctionCall, acting: ActionContext, pretence: DryRunOptions | null): HostActions {
    const { egress, now } = this.#deps;
    const { depth, restricted } = run;
    const jobs = pretence?.jobs ?? this.#deps.jobs;
    const scheduling = { jobs, depth, restricted, now: () => now().getTime() };
    return {
      ...documentActions(this.#deps, acting),
      ...fileActions(this.#deps, acting, pretence !== null),
      ...fetchAction(egress, fn),
      ...pluginActions(fn, acting, scheduling),
    };
  }
}

/** Groups of contexts by plugin object: any change of a plugin, its secrets or its grants makes a new object. */
const contextGroups = new WeakMap<Plugin, string>();
let createdGroups = 0;

/**
 * The calls that may share a context with a call of this plugin; null for none.
 * @param restricted whether it may see data of users, which must not get into the logs of other calls
 */
function contextGroupOf(plugin: Plugin, restricted: boolean): string | null {
  if (plugin.isolation === 'call') return null;
  let group = contextGroups.get(plugin);
  if (group === undefined) {
    createdGroups += 1;
    group = `${plugin.name} ${createdGroups}`;
    contextGroups.set(plugin, group);
  }
  return restricted ? `${group} restricted` : group;
}

function limitsOf(wallMs: number): RunLimits {
  return { wallMs, cpuMs: CPU_MS, heapMb: HEAP_MB };
}

/** A call whose transaction cannot be committed has failed, even if its code caught the error. */
function ended(outcome: CallOutcome, refused: MillraceError | null): CallOutcome {
  if (refused === null || outcome.kind === 'error') return outcome;
  const message = `${refused.code}: ${refused.message}. The database aborted the transaction, so nothing of the run is stored`;
  return { kind: 'error', code: 'function-failed', message, stack: null, cpuMs: outcome.cpuMs };
}

/** Values and responses are returned to the caller unredacted; runs/ redacts them before they are stored. */
function blanked(outcome: CallOutcome, blank: Redactor): CallOutcome {
  if (outcome.kind === 'refusal') {
    const [code, pointer] = [outcome.code, outcome.pointer].map((text) => text && blank(text));
    return { ...outcome, message: blank(outcome.message), code: code ?? null, pointer: pointer ?? null };
  }
  if (outcome.kind !== 'error') return outcome;
  return { ...outcome, message: blank(outcome.message), stack: outcome.stack === null ? null : blank(outcome.stack) };
}
