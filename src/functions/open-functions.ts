/**
 * Wires all parts of functions: the active plugins, the sandbox, and the callers. Stops what it starts, in reverse
 * order.
 */
import type { CollectionRegistry } from '../collections/collection-registry.ts';
import type { LateBoundHooks } from '../collections/write-hooks.ts';
import type { FunctionsConfig } from '../config/config.ts';
import type { AuditEvents } from '../database/audit-events.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Transactions } from '../database/transactions.ts';
import type { Egress } from '../egress/egress.ts';
import type { EventServices } from '../events/open-events.ts';
import type { Files } from '../files/files.ts';
import { CleanupStack } from '../lib/closers.ts';
import type { Encryption } from '../lib/encryption.ts';
import type { Policies } from '../policies/policies.ts';
import { DryRunner } from './calling/dry-run.ts';
import { FunctionRunner } from './calling/function-runner.ts';
import type { DocumentDeps } from './calling/host/document-actions.ts';
import { DeferredJobScheduler } from './calling/host/job-scheduler.ts';
import { EndpointCalls } from './endpoints/endpoint-calls.ts';
import { type EndpointOperation, endpointOperations } from './endpoints/endpoint-openapi.ts';
import { FunctionReruns } from './function-reruns.ts';
import { WriteHookRunner } from './hooks/hooks.ts';
import { LazySandbox } from './lazy-sandbox.ts';
import { PluginRegistry } from './plugins/active-plugins.ts';
import { CrashCounter } from './plugins/crash-counter.ts';
import { openPlugins, type PluginServices } from './plugins/open-plugins.ts';
import type { ActivePlugins } from './plugins/plugin.ts';
import { logPluginChanges } from './plugins/plugin-log.ts';
import { openQueue, type QueueServices } from './queue/open-queue.ts';
import { openRuns, type RunServices } from './runs/open-runs.ts';
import { FUNCTION_KINDS, type Sandbox, type SandboxEvents } from './sandbox/sandbox.ts';

export interface FunctionServices {
  /** The active plugins of this process. */
  readonly active: ActivePlugins;
  readonly plugins: PluginServices;
  /** Created on first use. */
  readonly sandbox: Sandbox;
  readonly runs: RunServices;
  readonly calls: FunctionRunner;
  readonly tryOut: DryRunner;
  readonly endpoints: EndpointCalls;
  /** The active HTTP functions, for the OpenAPI document. */
  readonly reported: () => readonly EndpointOperation[];
  readonly repeats: FunctionReruns;
  readonly queue: QueueServices;
  close(): Promise<void>;
}

export interface FunctionDeps {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly auth: { readonly activity: AuditEvents; readonly encryption: Encryption };
  readonly policies: Policies;
  readonly events: EventServices;
  readonly config: FunctionsConfig;
  /** The server APIs that functions use. */
  readonly reached: Omit<DocumentDeps, 'policies'> & {
    readonly files: Files;
    readonly egress: Egress;
    readonly registry: CollectionRegistry;
    /** The public URL of this server. */
    readonly publicUrl: string | undefined;
  };
  /** Where write hooks are registered. */
  readonly writeHooks: LateBoundHooks;
  /** Development mode: every client gets the messages of failed functions. */
  readonly isDevelopment: boolean;
  /** Creates the sandbox on first use. */
  readonly makeSandbox: (events: SandboxEvents) => Promise<Sandbox>;
  /** Called with activity of plugins and runs, as text for a terminal; null without one. */
  readonly report: ((text: string) => void) | null;
  /** Called with errors of a plugin. */
  readonly onIssue: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Opens and starts functions. The event log must be followed already. */
export async function openFunctions(deps: FunctionDeps): Promise<FunctionServices> {
  const closers = new CleanupStack();
  try {
    return await openOn(deps, closers);
  } catch (error) {
    await closers.close().catch(deps.onError);
    throw error;
  }
}

async function openOn(deps: FunctionDeps, closers: CleanupStack): Promise<FunctionServices> {
  const { mongo, events, policies, config, reached, makeSandbox, report, onError } = deps;
  const active = new PluginRegistry(onError);
  const quarantine = (id: string, reason: string) => plugins.plugins.quarantine(id, reason);
  const crashCounter = new CrashCounter({ active, quarantine, onError });
  const sandbox = closers.add(
    new LazySandbox(() =>
      makeSandbox({
        onCrash: (call, reason) => crashCounter.add(call, reason),
        onKilled: (signal) =>
          deps.onIssue(`A signal from outside (${signal}) ended the process that runs functions. It is restarted.`),
      }),
    ),
    (it) => it.stop(),
  );
  const records = () => events.recorder.state.status === 'recording';
  const runs = closers.add(openRuns({ mongo, records, report, onError }), (it) => it.close());
  const checking = config.mode === 'off' ? null : sandbox;
  const { folders } = config;
  const plugins = closers.add(
    await openPlugins({ ...deps, ...deps.auth, folders, registry: active, sandbox: checking, figures: runs.counts }),
    (it) => it.close(),
  );
  if (report !== null) closers.add(logPluginChanges(active, report), (it) => it());
  const begin = () => {
    if (FUNCTION_KINDS.some((kind) => active.ofKind(kind).length > 0)) runs.begin().catch(onError);
  };
  closers.add(active.onChange(begin), (it) => it());
  begin();
  const jobs = new DeferredJobScheduler();
  const calls = new FunctionRunner({
    ...reached,
    policies,
    sandbox: checking,
    jobs,
    now: () => new Date(),
    onError,
  });
  deps.writeHooks.attach(
    new WriteHookRunner({ active, calling: calls, recorder: runs.recorder, isDevelopment: deps.isDevelopment }),
  );
  const queue = closers.add(
    openQueue({
      ...deps,
      ...deps.auth,
      ...reached,
      records,
      active,
      reload: plugins.reload,
      calling: calls,
      runsFunctions: config.mode !== 'off',
      interrupt: () => sandbox.stop(),
      runs,
    }),
    (it) => it.close(),
  );
  jobs.attach(queue.jobs);
  const tryOut = new DryRunner(calls, reached.atomic);
  const endpoints = new EndpointCalls({ active, calling: calls, recorder: runs.recorder, onError });
  const repeats = new FunctionReruns({ active, endpoints, queue: queue.repeats, replays: queue.replays });
  const reported = () => endpointOperations(active.ofKind('http'));
  return {
    active,
    plugins,
    sandbox,
    runs,
    calls,
    tryOut,
    queue,
    endpoints,
    reported,
    repeats,
    close: () => closers.close(),
  };
}
