/**
 * Creates and connects all parts of functions: the plugins in force, the sandbox that runs their code, and what calls them.
 * What is started here is stopped here, in reverse order. No behaviour of its own. Not here: HTTP (http/).
 */
import type { Registry } from '../collections/registry.ts';
import type { LateHooks } from '../collections/write-hooks.ts';
import type { Activity } from '../database/activity.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Transactions } from '../database/transactions.ts';
import type { Egress } from '../egress/egress.ts';
import type { EventParts } from '../events/open-events.ts';
import type { Files } from '../files/files.ts';
import { Closers } from '../kernel/closers.ts';
import type { FunctionsConfig } from '../kernel/config/config.ts';
import type { Sealer } from '../kernel/sealer.ts';
import type { Policies } from '../policies/policies.ts';
import { FunctionCalls } from './calling/function-calls.ts';
import type { DocumentParts } from './calling/host/document-actions.ts';
import { LateJobs } from './calling/host/job-scheduler.ts';
import { TryOut } from './calling/try-out.ts';
import { Befores } from './kinds/before/befores.ts';
import { EndpointCalls } from './kinds/endpoints/endpoint-calls.ts';
import { type EndpointOperation, endpointOperations } from './kinds/endpoints/endpoint-contract.ts';
import { openQueue, type QueueParts } from './kinds/queue/open-queue.ts';
import { LazySandbox } from './lazy-sandbox.ts';
import { openPlugins, type PluginParts } from './plugins/open-plugins.ts';
import type { ActivePlugins } from './plugins/plugin.ts';
import { PluginBook } from './plugins/plugin-book.ts';
import { tellNews } from './plugins/plugin-news.ts';
import { Strikes } from './plugins/strikes.ts';
import { RunRepeats } from './run-repeats.ts';
import { openRuns, type RunParts } from './runs/open-runs.ts';
import { FUNCTION_KINDS, type Sandbox, type SandboxEvents } from './sandbox/sandbox.ts';

export interface FunctionParts {
  /** The plugins in force in this process. */
  readonly active: ActivePlugins;
  readonly plugins: PluginParts;
  /** Made when the first function needs it. */
  readonly sandbox: Sandbox;
  readonly runs: RunParts;
  readonly calls: FunctionCalls;
  readonly tryOut: TryOut;
  readonly endpoints: EndpointCalls;
  /** The endpoints in force, for the contract. */
  readonly told: () => readonly EndpointOperation[];
  readonly repeats: RunRepeats;
  readonly queue: QueueParts;
  close(): Promise<void>;
}

export interface FunctionNeeds {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly auth: { readonly activity: Activity; readonly sealer: Sealer };
  readonly policies: Policies;
  readonly events: EventParts;
  readonly config: FunctionsConfig;
  /** What functions reach of the server. */
  readonly reached: Omit<DocumentParts, 'policies'> & {
    readonly files: Files;
    readonly egress: Egress;
    readonly registry: Registry;
    /** Where clients reach this server. */
    readonly publicUrl: string | undefined;
  };
  /** Where functions are hung that see writes. */
  readonly writeHooks: LateHooks;
  /** Development mode: then everyone is told what a function says of its fault. */
  readonly isDevelopment: boolean;
  /** Makes the sandbox when the first function needs it. */
  readonly makeSandbox: (events: SandboxEvents) => Promise<Sandbox>;
  /** Told what plugins and runs do, in words for a person at the terminal; null where nobody reads. */
  readonly tell: ((text: string) => void) | null;
  /** Told what is wrong with a plugin. */
  readonly onFault: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Opens and starts functions. The event log must be followed already. */
export async function openFunctions(needs: FunctionNeeds): Promise<FunctionParts> {
  const closers = new Closers();
  try {
    return await openOn(needs, closers);
  } catch (error) {
    await closers.close().catch(needs.onError);
    throw error;
  }
}

async function openOn(needs: FunctionNeeds, closers: Closers): Promise<FunctionParts> {
  const { mongo, events, policies, config, reached, makeSandbox, tell, onError } = needs;
  const active = new PluginBook(onError);
  const quarantine = (id: string, reason: string) => plugins.plugins.quarantine(id, reason);
  const strikes = new Strikes({ active, quarantine, onError });
  const sandbox = closers.add(
    new LazySandbox(() =>
      makeSandbox({
        onStrike: (call, reason) => strikes.add(call, reason),
        onKilled: (signal) =>
          needs.onFault(`${signal} from outside ended the process that runs functions. It starts again.`),
      }),
    ),
    (it) => it.stop(),
  );
  const records = () => events.recorder.state.status === 'recording';
  const runs = closers.add(openRuns({ mongo, records, tell, onError }), (it) => it.close());
  const checking = config.mode === 'off' ? null : sandbox;
  const { folders } = config;
  const plugins = closers.add(
    await openPlugins({ ...needs, ...needs.auth, folders, book: active, sandbox: checking, figures: runs.counts }),
    (it) => it.close(),
  );
  if (tell !== null) closers.add(tellNews(active, tell), (it) => it());
  const begin = () => {
    if (FUNCTION_KINDS.some((kind) => active.ofKind(kind).length > 0)) runs.begin().catch(onError);
  };
  closers.add(active.onChange(begin), (it) => it());
  begin();
  const jobs = new LateJobs();
  const calls = new FunctionCalls({
    ...reached,
    policies,
    sandbox: checking,
    jobs,
    now: () => new Date(),
    onError,
  });
  needs.writeHooks.attach(
    new Befores({ active, calling: calls, recorder: runs.recorder, isDevelopment: needs.isDevelopment }),
  );
  const queue = closers.add(
    openQueue({
      ...needs,
      ...needs.auth,
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
  const tryOut = new TryOut(calls, reached.atomic);
  const endpoints = new EndpointCalls({ active, calling: calls, recorder: runs.recorder, onError });
  const repeats = new RunRepeats({ active, endpoints, queue: queue.repeats, replays: queue.replays });
  const told = () => endpointOperations(active.ofKind('endpoint'));
  return {
    active,
    plugins,
    sandbox,
    runs,
    calls,
    tryOut,
    queue,
    endpoints,
    told,
    repeats,
    close: () => closers.close(),
  };
}
