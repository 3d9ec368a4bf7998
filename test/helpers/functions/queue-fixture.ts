/**
 * Fixture of queue tests: a server on a database of its own, and queues as in separate processes, each with its
 * plugins. The code of functions is code of the test, called in their transaction. The clock is the test's.
 */
import { inspect } from 'node:util';
import type { ClientSession, Db } from 'mongodb';
import type { Test } from 'tap';
import { TransactionRunner } from '../../../src/collections/transaction-runner.ts';
import { Transactions } from '../../../src/database/transactions.ts';
import type { FunctionCall, FunctionInvoker } from '../../../src/functions/calling/call-types.ts';
import { PluginRegistry } from '../../../src/functions/plugins/active-plugins.ts';
import type { FunctionOptions, Plugin } from '../../../src/functions/plugins/plugin.ts';
import { FunctionQueue } from '../../../src/functions/queue/queue.ts';
import { RUNS_COLLECTION, type RunRow } from '../../../src/functions/runs/run-row.ts';
import { RunStore } from '../../../src/functions/runs/run-store.ts';
import type { CallOutcome } from '../../../src/functions/sandbox/sandbox.ts';
import type { Services } from '../../../src/services.ts';
import { buildTestApp } from '../app.ts';
import { testMongo } from '../mongo.ts';
import { until } from '../until.ts';
import { type FunctionSpec, pluginOf } from './plugins.ts';

/** Inputs, with the fields that tests check. */
interface TestInput {
  readonly type: string;
  readonly documentId: string;
  readonly scheduledAt: string;
  readonly data: {
    readonly id: string;
    readonly n: number;
    readonly details: { readonly function: string; readonly code: string };
  };
}

/** Arguments of a function's code. */
export interface Given {
  readonly input: TestInput;
  readonly call: FunctionCall;
  readonly session: ClientSession;
  readonly data: Db;
}

export type Code = (given: Given) => unknown;

/** A function as a test defines it. */
export interface Said {
  readonly use: FunctionOptions;
  readonly code: Code;
  readonly isQuarantined?: boolean;
}

/** Thrown by code for an error with a code of its own. */
export class CodeError extends Error {
  readonly code: Extract<CallOutcome, { kind: 'error' }>['code'];

  constructor(code: Extract<CallOutcome, { kind: 'error' }>['code']) {
    super(code);
    this.code = code;
  }
}

export interface QueueNode {
  readonly queue: FunctionQueue;
  readonly errors: unknown[];
  /** Runs in the order of their completion. */
  readonly ended: RunRow[];
  /** Enables exactly these functions, as a plugin `p`. */
  use(functions: Readonly<Record<string, Said>>, more?: Partial<Plugin>): void;
  stop(): Promise<void>;
}

export interface QueueFixture {
  readonly services: Services;
  readonly app: Awaited<ReturnType<typeof buildTestApp>>['app'];
  readonly clock: { now: number };
  /** A process that runs the queue while `records` says so. */
  node(functions?: Readonly<Record<string, Said>>, records?: () => boolean): Promise<QueueNode>;
  runs(filter?: object): Promise<RunRow[]>;
  /** Waits until a run has a state. */
  reaches(filter: object, count?: number): Promise<RunRow[]>;
  /** Moves the clock, and runs a queue check. */
  pass(node: QueueNode, ms: number): Promise<void>;
}

export async function queueFixture(t: Test): Promise<QueueFixture> {
  const testDatabase = await testMongo(t);
  const { app, services } = await buildTestApp(t, {}, testDatabase);
  const clock = { now: Date.now() };
  const rows = services.mongo.log.collection<RunRow>(RUNS_COLLECTION);
  await new RunStore(services.mongo).prepare();

  const runs = (filter: object = {}) => rows.find(filter).sort({ createdAt: 1, 'position.number': 1 }).toArray();
  const nodes: QueueNode[] = [];
  return {
    services,
    app,
    clock,
    node: async (functions = {}, records = () => true) => {
      // A queue that is started earlier begins a moment after its start, and then treats enabled functions as new.
      // Recording can also pause for a moment, after an error of the database.
      await until(() => services.events.recorder.state.status === 'recording', 'this process records');
      const node = await startNode(t, services, clock, functions, records);
      nodes.push(node);
      return node;
    },
    runs,
    reaches: async (filter, count = 1) => {
      const what = `runs ${JSON.stringify(filter)}`;
      try {
        await until(async () => (await rows.countDocuments(filter)) >= count, what);
      } catch (error) {
        const found = {
          now: new Date(clock.now),
          recorder: services.events.recorder.state,
          runs: await runs(),
          standing: await services.mongo.log.collection('function_positions').find().toArray(),
          errors: nodes.map(({ errors }) => errors),
        };
        throw new Error(`No ${what}, but ${inspect(found, { depth: 6 })}`, { cause: error });
      }
      return await runs(filter);
    },
    pass: async (node, ms) => {
      clock.now += ms;
      await node.queue.runDue();
    },
  };
}

async function startNode(
  t: Test,
  services: Services,
  clock: { now: number },
  functions: Readonly<Record<string, Said>>,
  records: () => boolean,
): Promise<QueueNode> {
  const codes = new Map<string, Code>();
  const errors: unknown[] = [];
  const ended: RunRow[] = [];
  const registry = new PluginRegistry((error) => errors.push(error));
  const use: QueueNode['use'] = (said, more = {}) => {
    const plugin = pluginOf('p', specsOf(said), {}, { readsUsers: true, ...more });
    for (const [name, { code }] of Object.entries(said)) codes.set(`${plugin.name}/${name}`, code);
    registry.setPlugins([plugin]);
  };
  if (Object.keys(functions).length > 0) use(functions);
  const transactions = new Transactions(services.mongo);
  await transactions.start();
  const atomic = new TransactionRunner(transactions, services.registry);
  const queue = new FunctionQueue({
    mongo: services.mongo,
    events: services.events,
    records: () => records() && services.events.recorder.state.status === 'recording',
    active: registry,
    reload: async () => {},
    calling: callingOf(services, codes),
    interrupt: async () => {},
    atomic: async () => atomic,
    activity: services.auth.activity,
    publicUrl: undefined,
    onLog: () => {},
    onEnd: (run) => void ended.push(run),
    onError: (error) => void errors.push(error),
    now: () => clock.now,
  });
  queue.start();
  let stopped: Promise<void> | null = null;
  const stop = async () => {
    await queue.stop();
    await transactions.stop();
  };
  const node: QueueNode = {
    queue,
    errors,
    ended,
    use,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
  t.teardown(() => node.stop());
  return node;
}

function callingOf(services: Services, codes: ReadonlyMap<string, Code>): FunctionInvoker {
  return {
    call: async (call) => {
      const started = performance.now();
      const outcome = await run(services, codes, call);
      const durationMs = performance.now() - started;
      return { outcome, startedAt: new Date(), durationMs, logs: [], operations: [] };
    },
  };
}

async function run(services: Services, codes: ReadonlyMap<string, Code>, call: FunctionCall): Promise<CallOutcome> {
  const session = call.within?.session;
  if (session === undefined) throw new Error('A run of the queue has a transaction');
  try {
    const value = await codes.get(call.fn.id)?.({
      input: JSON.parse(call.input),
      call,
      session,
      data: services.mongo.data,
    });
    return { kind: 'value', value: JSON.stringify(value ?? null), cpuMs: 1 };
  } catch (error) {
    // An error of the transaction is passed on to the code that retries it.
    if (error instanceof Error && error.name.startsWith('Mongo')) throw error;
    const code = error instanceof CodeError ? error.code : 'function-failed';
    return { kind: 'error', code, message: String(error), stack: null, cpuMs: 1 };
  }
}

function specsOf(said: Readonly<Record<string, Said>>): Readonly<Record<string, FunctionSpec>> {
  const specOf = ({ use, isQuarantined = false }: Said): FunctionSpec => ({
    use,
    as: 'function',
    timeoutMs: 60_000,
    isQuarantined,
  });
  return Object.fromEntries(Object.entries(said).map(([name, one]) => [name, specOf(one)]));
}

/** A trigger without a filter. */
export function onEvents(on: readonly string[], code: Code, filter: Record<string, unknown> | null = null): Said {
  return { use: { kind: 'trigger', on, filter }, code };
}

export function onTime(schedule: string, code: Code, timeZone = 'UTC'): Said {
  return { use: { kind: 'cron', schedule, timeZone }, code };
}

/** Adds to a counter, in the transaction of the run. */
export async function count({ data, session }: Given, name: string, by = 1): Promise<void> {
  await data
    .collection<{ _id: string }>('counts')
    .updateOne({ _id: name }, { $inc: { n: by } }, { upsert: true, session });
}
