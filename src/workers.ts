/**
 * Several processes behind one port of one machine: the primary process starts workers, replaces those that end, and
 * stops them. Each worker is a complete server with a listening socket of its own (SO_REUSEPORT), among which the system
 * distributes connections. Connections that the primary hands over, as node:cluster does by default, would hang when
 * the worker dies in that moment.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Config } from './config/config.ts';
import { isPlainObject } from './lib/plain-object.ts';

const MAX_WORKERS_BY_DEFAULT = 4;
/** A worker that ends earlier after its start waits for its next start, twice as long each time. */
const SHORT_LIFE_MS = 5_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
const MEGABYTE = 1_048_576;
/** Memory for which one worker is started by default: what it uses, with its heap and the process of its functions. */
const BYTES_OF_A_WORKER = 1_024 * MEGABYTE;
/** Connections that one IP address may have to a worker, if the limit allows them: a browser opens six. */
const MIN_CONNECTIONS_PER_ADDRESS = 16;
/** The variable with which the primary passes an assignment; a message could arrive before a worker listens. */
const ASSIGNMENT = 'MILLRACE_WORKER_ASSIGNMENT';
/** The fewest connections to the database that a worker needs. */
const MIN_DATABASE_CONNECTIONS = 16;
const MIN_CLIENT_BYTES = 65_536;

/** What the primary passes to a worker at its start. */
export interface WorkerAssignment {
  /** From 1; a worker that replaces another one takes its number. */
  readonly number: number;
  readonly count: number;
  /** The port of all workers; 0 for the first one if the system chooses. */
  readonly port: number;
  /** Whether it makes the summary of the start, with the set-up link: one worker does. */
  readonly announces: boolean;
  /** The connection string of the embedded database; null for an external one. */
  readonly embeddedUrl: string | null;
}

/**
 * How many workers serve. Without the setting: one; in production with an external MongoDB one less than there are
 * cores, at most one for each GB of memory, and at most four.
 */
export function workerCount({ mode, workers, database }: Config): number {
  if (workers !== null) return workers;
  if (mode === 'development' || database.url === undefined) return 1;
  const byMemory = Math.floor(memoryBytes() / BYTES_OF_A_WORKER);
  return Math.max(1, Math.min(MAX_WORKERS_BY_DEFAULT, availableParallelism() - 1, byMemory));
}

/** The configuration of one worker: limits of the machine are divided by the workers. */
export function configOfWorker(config: Config, count: number): Config {
  const share = (limit: number) => (limit === Number.MAX_SAFE_INTEGER ? limit : Math.ceil(limit / count));
  const shareOrNull = (limit: number | null) => limit && share(limit);
  const { server, held, realtime, database } = config;
  return {
    ...config,
    database: {
      ...database,
      maxConnections: Math.max(MIN_DATABASE_CONNECTIONS, share(database.maxConnections)),
    },
    server: {
      ...server,
      connectionsPerAddress: Math.max(
        share(server.connectionsPerAddress),
        Math.min(server.connectionsPerAddress, MIN_CONNECTIONS_PER_ADDRESS),
      ),
      rate: { anonymous: shareOrNull(server.rate.anonymous), principal: shareOrNull(server.rate.principal) },
    },
    held: {
      bytes: shareOrNull(held.bytes),
      bytesPerClient: held.bytesPerClient && Math.max(MIN_CLIENT_BYTES, share(held.bytesPerClient)),
    },
    realtime: { ...realtime, maxClients: share(realtime.maxClients) },
  };
}

/** In a worker: what the primary assigned to it. Null in a process that no primary started. */
export function takeAssignment(env: NodeJS.ProcessEnv): WorkerAssignment | null {
  const text = env[ASSIGNMENT];
  if (text === undefined) return null;
  delete env[ASSIGNMENT];
  const assignment: unknown = JSON.parse(text);
  if (!isAssignment(assignment)) throw new TypeError('A worker was started with an invalid assignment');
  return assignment;
}

function isAssignment(message: unknown): message is WorkerAssignment {
  return isPlainObject(message) && typeof message['number'] === 'number' && typeof message['count'] === 'number';
}

/** In a worker: reports to the primary that it serves. @param summary of the start; null if it does not announce */
export function reportServing(port: number, summary: string | null): void {
  process.send?.({ serving: true, port, summary });
}

/** How a worker listens. Other systems share the socket of the primary, as node:cluster does by default. */
export const WORKER_LISTEN_OPTIONS = { reusePort: process.platform === 'linux' || process.platform === 'freebsd' };

/**
 * Fails where another program listens: with SO_REUSEPORT a second instance would receive a part of the connections of
 * the first one.
 */
export async function requireFreePort({ host, port }: { host: string; port: number }): Promise<void> {
  const server = createServer().listen({ host, port });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

export interface WorkerSupervisorOptions {
  readonly count: number;
  /** The port of the settings; 0 if the system chooses. */
  readonly port: number;
  readonly embeddedUrl: string | null;
  /** How long a worker may take to stop, in milliseconds; then it is killed. */
  readonly stopTimeoutMs: number;
  /** Prints the summary of the start. */
  readonly print: (summary: string) => void;
  /** Called with a sentence for the log about the unexpected end of a worker. */
  readonly onWorkerEnd: (text: string) => void;
}

interface WorkerState {
  readonly number: number;
  readonly startedAt: number;
  hasServed: boolean;
}

/** Starts the workers of this process and keeps their number until it is stopped. */
export class WorkerSupervisor {
  /** Rejects when the first worker cannot start, which it has explained. */
  readonly failed: Promise<never>;
  readonly #options: WorkerSupervisorOptions;
  readonly #workers = new Map<Worker, WorkerState>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Delay before the next start of a worker by its number; none for those that ran for long. */
  readonly #delays = new Map<number, number>();
  readonly #fail: (error: unknown) => void;
  /** Resolved when no worker runs. */
  readonly #allEnded = Promise.withResolvers<void>();
  #port: number;
  #isAnnounced = false;
  #isStopping = false;

  constructor(options: WorkerSupervisorOptions) {
    this.#options = options;
    this.#port = options.port;
    const { promise, reject } = Promise.withResolvers<never>();
    [this.failed, this.#fail] = [promise, reject];
    promise.catch(() => undefined);
    cluster.setupPrimary({ execArgv: [...process.execArgv, ...heapFlags(options.count)] });
    cluster.on('exit', (worker, code, signal) => this.#onExit(worker, signal ?? `exit code ${code}`, code === 1));
  }

  /** Starts the first worker, which prepares the database; the others follow when it serves. */
  start(): void {
    this.#fork(1);
  }

  /** Stops all workers at once, each within its grace period, and waits until they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const kill = (signal: NodeJS.Signals) => {
      for (const worker of this.#workers.keys()) worker.process.kill(signal);
    };
    kill('SIGTERM');
    const timer = setTimeout(() => kill('SIGKILL'), this.#options.stopTimeoutMs);
    if (this.#workers.size > 0) await this.#allEnded.promise;
    clearTimeout(timer);
  }

  #fork(number: number): void {
    const { count, embeddedUrl } = this.#options;
    const announces = !this.#isAnnounced;
    const assignment: WorkerAssignment = { number, count, port: this.#port, announces, embeddedUrl };
    const worker = cluster.fork({ [ASSIGNMENT]: JSON.stringify(assignment) });
    const state: WorkerState = { number, startedAt: performance.now(), hasServed: false };
    this.#workers.set(worker, state);
    worker.on('message', (message: unknown) => this.#onMessage(state, message));
    // A process that the system could not start has no exit.
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) this.#onExit(worker, error.message, false);
    });
  }

  #onMessage(state: WorkerState, message: unknown): void {
    if (!isPlainObject(message) || message['serving'] !== true) return;
    state.hasServed = true;
    if (this.#isAnnounced || typeof message['summary'] !== 'string') return;
    this.#isAnnounced = true;
    this.#port = Number(message['port']);
    this.#options.print(message['summary']);
    for (let number = 2; number <= this.#options.count; number++) this.#fork(number);
  }

  /** @param hasExplained whether the worker has printed why it ended */
  #onExit(worker: Worker, reason: string, hasExplained: boolean): void {
    const state = this.#workers.get(worker);
    this.#workers.delete(worker);
    if (this.#workers.size === 0) this.#allEnded.resolve();
    if (state === undefined || this.#isStopping) return;
    if (!this.#isAnnounced) {
      this.#fail(new WorkerFailed(`The first worker ended: ${reason}`, hasExplained));
      return;
    }
    const { number } = state;
    const delay = nextDelay({
      livedMs: performance.now() - state.startedAt,
      hasServed: state.hasServed,
      lastDelayMs: this.#delays.get(number) ?? 0,
    });
    this.#delays.set(number, delay);
    this.#options.onWorkerEnd(`Worker ${number} ended (${reason}) and starts again in ${delay} ms`);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#fork(number);
    }, delay);
    this.#timers.add(timer);
  }
}

/** The first worker could not start. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed';
  /** Whether it has printed why. */
  readonly hasExplained: boolean;

  constructor(message: string, hasExplained: boolean) {
    super(message);
    this.hasExplained = hasExplained;
  }
}

/**
 * Milliseconds before a worker starts again: none after it has served for a while, otherwise twice as long as before its
 * last start.
 */
export function nextDelay(ended: { livedMs: number; hasServed: boolean; lastDelayMs: number }): number {
  if (ended.hasServed && ended.livedMs >= SHORT_LIFE_MS) return 0;
  return Math.min(MAX_DELAY_MS, Math.max(FIRST_DELAY_MS, ended.lastDelayMs * 2));
}

/** Half of the memory of the machine or container is for the heaps of all workers, at most what one process has. */
function heapFlags(count: number): string[] {
  const bytes = Math.min(getHeapStatistics().heap_size_limit, memoryBytes() / 2 / count);
  return [`--max-old-space-size=${Math.floor(bytes / MEGABYTE)}`];
}

/** Memory of the machine or container, in bytes. */
function memoryBytes(): number {
  return Math.min(...[process.constrainedMemory(), totalmem()].filter((bytes) => bytes > 0));
}
