/** Creates and starts the services of functions: the active plugins, the sandbox, the callers, the queue and the runs. */
import type { BulkWrites } from '../collections/bulk-writes.ts';
import type { CollectionRegistry } from '../collections/collection-registry.ts';
import type { Collections } from '../collections/collections.ts';
import type { TransactionRunner } from '../collections/transaction-runner.ts';
import type { LateBoundHooks } from '../collections/write-hooks.ts';
import type { FunctionsConfig } from '../config/config.ts';
import type { AuditEvents } from '../database/audit-only-events.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Transactions } from '../database/transactions.ts';
import type { Egress } from '../egress/egress.ts';
import type { EventServices } from '../events/services.ts';
import type { Files } from '../files/files.ts';
import type { Encryption } from '../lib/encryption.ts';
import type { Policies } from '../policies/policies.ts';
import { DryRunner } from './calling/dry-run.ts';
import { FunctionRunner } from './calling/function-runner.ts';
import { LateBoundJobScheduler } from './calling/host/job-scheduler.ts';
import { EndpointCalls } from './endpoints/endpoint-calls.ts';
import { type EndpointOperation, endpointOperations } from './endpoints/endpoint-openapi.ts';
import { FunctionReruns } from './function-reruns.ts';
import { WriteHookRunner } from './hooks/hooks.ts';
import { LazySandbox } from './lazy-sandbox.ts';
import { PluginRegistry } from './plugins/active-plugins.ts';
import { CrashCounter } from './plugins/crash-counter.ts';
import { logPluginChanges } from './plugins/log-plugin-changes.ts';
import type { ActivePlugins } from './plugins/plugin.ts';
import { PluginLoader } from './plugins/plugin-loader.ts';
import { PluginViews } from './plugins/plugin-views.ts';
import { Plugins } from './plugins/plugins.ts';
import { PluginSecretStore } from './plugins/store/plugin-secret-store.ts';
import { PluginStore } from './plugins/store/plugin-store.ts';
import { VersionStore } from './plugins/store/version-store.ts';
import { PluginDrafts } from './plugins/unsaved-plugins.ts';
import { Jobs } from './queue/jobs.ts';
import { FunctionQueue } from './queue/queue.ts';
import { QueueReruns } from './queue/queue-reruns.ts';
import { ScheduledJobStore } from './queue/running/pending-job-store.ts';
import { QueueStore } from './queue/running/queue-store.ts';
import { RunTransactions } from './queue/running/run-transaction-pool.ts';
import { TriggerReplays } from './queue/trigger-replays.ts';
import { toRun } from './runs/run-row.ts';
import { createRunServices, type RunServices } from './runs/services.ts';
import { FUNCTION_KINDS, type SandboxEvents } from './sandbox/sandbox.ts';

export interface FunctionServices {
  /** The active plugins of this process. */
  readonly active: ActivePlugins;
  /** Administration of plugins. */
  readonly plugins: Plugins;
  /** Plugins as administrators see them. */
  readonly shown: PluginViews;
  /** Unsaved plugins, for dry runs. */
  readonly drafts: PluginDrafts;
  readonly runs: RunServices;
  readonly calls: FunctionRunner;
  readonly tryOut: DryRunner;
  readonly endpoints: EndpointCalls;
  /** The active HTTP functions, for the OpenAPI document. */
  readonly reported: () => readonly EndpointOperation[];
  readonly jobs: Jobs;
  readonly repeats: FunctionReruns;
  readonly replays: TriggerReplays;
}

export interface FunctionServicesDeps {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly activity: AuditEvents;
  readonly encryption: Encryption;
  readonly policies: Policies;
  readonly events: EventServices;
  readonly config: FunctionsConfig;
  readonly collections: Collections;
  readonly bulkWrites: BulkWrites;
  readonly atomic: TransactionRunner;
  readonly registry: CollectionRegistry;
  readonly files: Files;
  readonly egress: Egress;
  /** The public URL of this server. */
  readonly publicUrl: string | undefined;
  /** Where write hooks are registered. */
  readonly writeHooks: LateBoundHooks;
  /** Development mode: every client gets the messages of failed functions. */
  readonly isDevelopment: boolean;
  /** Called with activity of plugins and runs, as text for a terminal; null without one. */
  readonly report: ((text: string) => void) | null;
  /** Called with errors of a plugin. */
  readonly onIssue: (text: string) => void;
  readonly onError: (error: unknown) => void;
  /** Receives what stops the services. */
  readonly cleanup: AsyncDisposableStack;
}

/** The event log must be followed already. The stored plugins are active when this resolves. */
export async function createFunctionServices(deps: FunctionServicesDeps): Promise<FunctionServices> {
  const { mongo, transactions, activity, encryption, policies, events, config, publicUrl } = deps;
  const { collections, bulkWrites, atomic, registry, files, egress, report, onIssue, onError, cleanup } = deps;
  const active = new PluginRegistry(onError);
  const crashCounter = new CrashCounter({
    active,
    quarantine: (id, reason) => plugins.quarantine(id, reason),
    onError,
  });
  const sandbox = cleanup.adopt(
    new LazySandbox(async () => {
      const { IsolateSandbox } = await import('./sandbox/host/isolate-sandbox.ts');
      const onCrash: SandboxEvents['onCrash'] = (call, reason) => crashCounter.add(call, reason);
      const onKilled = (signal: string) =>
        onIssue(`A signal from outside (${signal}) ended the process that runs functions. It is restarted.`);
      return new IsolateSandbox({ onCrash, onKilled }, { jitless: config.mode === 'jitless' });
    }),
    (it) => it.stop(),
  );
  const records = () => events.recorder.state.status === 'recording';
  const runs = createRunServices({ mongo, records, report, onError, cleanup });
  const { recorder } = runs;
  const isOn = config.mode !== 'off';
  const usedSandbox = isOn ? sandbox : null;

  const stores = {
    plugins: new PluginStore(mongo),
    versions: new VersionStore(mongo),
    secrets: new PluginSecretStore(mongo, encryption),
  };
  await Promise.all([stores.plugins.start(), stores.secrets.start()]);
  const loader = cleanup.adopt(
    new PluginLoader({
      folders: config.folders,
      stores,
      transactions,
      registry: active,
      sandbox: usedSandbox,
      onIssue,
      onError,
    }),
    (it) => it.stop(),
  );
  await loader.start();
  const { reloader } = loader;
  cleanup.defer(events.tail.attachCache(reloader));
  // The log is followed instead of polled: an idle instance sends no queries.
  await reloader.start(() => events.tail.healthy);
  const plugins = new Plugins({ stores, transactions, loader, activity, sandbox: usedSandbox });
  const shown = new PluginViews({ stores, transactions, loader, figures: runs.counts });
  const drafts = new PluginDrafts({ loader, shown, sandbox: usedSandbox });
  if (report !== null) cleanup.defer(logPluginChanges(active, report));
  const begin = () => {
    if (FUNCTION_KINDS.some((kind) => active.ofKind(kind).length > 0)) runs.begin().catch(onError);
  };
  cleanup.defer(active.onChange(begin));
  begin();

  const scheduler = new LateBoundJobScheduler();
  const calls = new FunctionRunner({
    collections,
    bulkWrites,
    policies,
    atomic,
    files,
    publicUrl,
    sandbox: usedSandbox,
    egress,
    jobs: scheduler,
    now: () => new Date(),
    onError,
  });
  const { isDevelopment } = deps;
  deps.writeHooks.attach(new WriteHookRunner({ active, calling: calls, recorder, isDevelopment }));

  const runTransactions = cleanup.adopt(new RunTransactions(mongo, registry), (it) => it.stop());
  const queue = new FunctionQueue({
    mongo,
    events,
    records,
    active,
    reload: () => reloader.reload(),
    calling: calls,
    interrupt: () => sandbox.stop(),
    atomic: () => runTransactions.atomic(),
    activity,
    publicUrl,
    onLog: (run, line) => recorder.line(toRun(run), line),
    onEnd: (run) => recorder.recordAttempt(run),
    onError,
  });
  cleanup.adopt(queue, (it) => it.stop());
  // Where functions are disabled, runs stay pending.
  if (isOn) queue.start();
  const jobs = new Jobs({ store: new ScheduledJobStore(mongo), activity });
  scheduler.attach(jobs);
  const queueStore = new QueueStore(mongo);
  const replays = new TriggerReplays({ store: queueStore, events, activity, publicUrl });
  const endpoints = new EndpointCalls({ active, calling: calls, recorder, onError });
  return {
    active,
    plugins,
    shown,
    drafts,
    runs,
    calls,
    tryOut: new DryRunner(calls, atomic),
    endpoints,
    reported: () => endpointOperations(active.ofKind('http')),
    jobs,
    repeats: new FunctionReruns({
      active,
      endpoints,
      queue: new QueueReruns({ store: queueStore, activity }),
      replays,
    }),
    replays,
  };
}
