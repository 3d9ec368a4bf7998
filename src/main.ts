#!/usr/bin/env node
/**
 * The process: reads the configuration, finds or starts the database, creates the services and the HTTP server,
 * listens, and closes all of it in order. Every startup error ends in one clear message and exit code 1.
 */
import { missingNativeBinding } from './requirements.ts';
import './fastify-types.ts';
import { flushCompileCache } from 'node:module';
import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import pino, { type Logger } from 'pino';
import { ANONYMOUS } from './auth/identity/principal.ts';
import { cannotListen, HELP, startupSummary, unknownSettings, VERSION } from './cli-text.ts';
import { isCommand, runCommand } from './commands/commands.ts';
import { type Config, ConfigError, loadConfig } from './config/config.ts';
import { type EmbeddedDatabase, startEmbeddedDatabase } from './database/embedded/embedded.ts';
import { UnusableDatabase } from './database/startup-error.ts';
import { databaseWarnings } from './database/version-warnings.ts';
import { consoleLogStream, LISTENING_PREFIX } from './http/console-log.ts';
import { DiskSpaceMonitor, type DiskSpaceState, formatMegabytes } from './lib/disk-space.ts';
import { MillraceError } from './lib/errors.ts';
import { waitForStopSignal } from './lib/wait-for-stop-signal.ts';
import type { Services } from './services.ts';
import {
  configOfWorker,
  reportServing,
  requireFreePort,
  takeAssignment,
  WORKER_LISTEN_OPTIONS,
  type WorkerAssignment,
  WorkerFailed,
  WorkerSupervisor,
  workerCount,
} from './workers.ts';

/**
 * Time limit for closing the services, in milliseconds. It takes a moment, unless the database does not respond. What
 * is left then (leases, for example) expires by itself, as after a kill.
 */
const CLOSE_MS = 5_000;

/** @returns the exit code */
async function main(): Promise<0 | 1> {
  const [flag, ...words] = process.argv.slice(2);
  if (flag !== undefined && isCommand(flag)) return runCommand(flag, words, process.env);
  if (flag === '--help' || flag === '-h') return print(HELP);
  if (flag === '--version' || flag === '-v') return print(VERSION);
  if (flag !== undefined) throw new ConfigError([`${flag}: unknown argument; see --help`]);

  const config = loadConfig(process.env);
  collectBuffersWithTheRest();
  serveUnheard();
  const assignment = takeAssignment(process.env);
  const log = makeLog(config, assignment);
  const stopping = waitForStopSignal(process.env);
  if (assignment !== null) {
    await serve(configOfWorker(config, assignment.count), log, stopping, assignment);
    return 0;
  }
  for (const line of unknownSettings(process.env)) log.warn(line);
  const count = workerCount(config);
  if (count > 1) await supervise(config, log, stopping, count);
  else await serve(config, log, stopping, null);
  return 0;
}

/**
 * Response and request bodies are buffers outside of V8's heap: many bytes, with few objects in the heap. By default V8
 * collects the whole heap after every 64 MB of buffers, which is ten times per second for lists of 100 KB. Node rejects
 * this flag in NODE_OPTIONS.
 */
function collectBuffersWithTheRest(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit');
}

/**
 * Runs until a stop signal, then closes in reverse order of opening. A signal during the start does not wait for the
 * rest of the start, which may never complete: what is half open ends with the process, including the embedded MongoDB.
 */
async function serve(
  config: Config,
  log: Logger,
  stopping: Promise<string>,
  assignment: WorkerAssignment | null,
): Promise<void> {
  const opened = await Promise.race([open(config, assignment), stopping]);
  if (typeof opened === 'string') return;
  const [embedded, { createServices }] = opened;
  let cannotServe = false;
  const space = isEmbedded(config)
    ? new DiskSpaceMonitor({ folder: config.folder, onChange: (state) => reportSpace(log, state) })
    : undefined;
  await space?.start();
  try {
    const parts = await Promise.race([
      createServices(config, embedded?.url ?? assignment?.embeddedUrl ?? config.database.url ?? '', {
        onError: (error) => cannotServe || log.error({ err: error }, 'Background work failed'),
        onEmail: (email) => log.info(email),
        onAdvice: (advice) => log.warn(advice),
        space,
      }),
      stopping,
    ]);
    if (typeof parts === 'string') return;
    try {
      await serveParts(parts, { log, embedded, stopping, assignment });
    } catch (error) {
      // Errors caused by closing would hide the one error that matters.
      cannotServe = true;
      throw error;
    } finally {
      await withinTime(parts.close(), CLOSE_MS);
    }
  } finally {
    space?.stop();
    await embedded?.stop();
  }
}

/** Warns before the disk of the embedded database is full. */
function reportSpace(log: Logger, { level, freeBytes, neededBytes }: DiskSpaceState): void {
  const free = `${formatMegabytes(freeBytes ?? 0)} free in the data folder`;
  if (level === 'enough') log.info(`The disk has enough space again: ${free}`);
  else if (level === 'low')
    log.error(
      `The disk is almost full: new documents and files are rejected. ${free}, ${formatMegabytes(neededBytes)} are needed`,
    );
  else log.error(`The disk is almost full: all writes of documents and files are rejected. ${free}`);
}

/**
 * Runs several workers until a stop signal. With the embedded database, this process runs it for all of them.
 */
async function supervise(config: Config, log: Logger, stopping: Promise<string>, count: number): Promise<void> {
  await requireFreePort(config.server).catch((error: unknown) => {
    throw cannotListen(error, config.server);
  });
  const embedded = isEmbedded(config) ? await Promise.race([embed(config, () => undefined), stopping]) : undefined;
  if (typeof embedded === 'string') return;
  const supervisor = new WorkerSupervisor({
    count,
    port: config.server.port,
    embeddedUrl: embedded?.url ?? null,
    stopTimeoutMs: config.server.shutdownTimeoutMs + 2 * CLOSE_MS,
    print,
    onWorkerEnd: (text) => log.error(text),
  });
  try {
    supervisor.start();
    const ends = [stopping, supervisor.failed, ...(embedded ? [lost(embedded, stopping)] : [])];
    log.info(`${await Promise.race(ends)}, closing`);
  } finally {
    await supervisor.stop();
    await embedded?.stop();
  }
}

interface ServePartsOptions {
  readonly log: Logger;
  /** The embedded database, if it belongs to this process. */
  readonly embedded: EmbeddedDatabase | undefined;
  readonly stopping: Promise<string>;
  readonly assignment: WorkerAssignment | null;
}

async function serveParts(services: Services, options: ServePartsOptions): Promise<void> {
  const { log, embedded, stopping, assignment } = options;
  const { server } = services.config;
  const { buildApp } = await import('./app.ts');
  const app = await buildApp(services, log);
  const url = await app
    .listen({
      host: server.host,
      ...(assignment === null ? { port: server.port } : { ...WORKER_LISTEN_OPTIONS, port: assignment.port }),
      listenTextResolver: (at) => `${LISTENING_PREFIX}${at}`,
    })
    .catch((error: unknown) => {
      throw cannotListen(error, server);
    });
  if (assignment === null) print(await summarizeStart(services, log, url));
  else reportServing(Number(new URL(url).port), assignment.announces ? await summarizeStart(services, log, url) : null);
  // Node would write it at the end only, which a killed program does not reach.
  flushCompileCache();
  try {
    const reason = await Promise.race([stopping, ...(embedded ? [lost(embedded, stopping)] : [])]);
    log.info(`${reason}, closing`);
  } finally {
    await withinTime(app.close(), server.shutdownTimeoutMs);
  }
}

/** Logs warnings about the database. Returns the summary of the start, with a set-up link if one is needed. */
async function summarizeStart(services: Services, log: Logger, url: string): Promise<string> {
  const setUp = await offerSetUp(services, url);
  const { config, auth, mongo, policies } = services;
  const about = { version: mongo.version, embedded: isEmbedded(config) };
  const production = config.mode === 'production';
  for (const line of databaseWarnings({ ...about, authenticated: mongo.authenticated, production })) log.warn(line);
  const reported = { ...about, url: `${url}${config.server.basePath}`, config, note: auth.leftBehind };
  return startupSummary({ ...reported, setUp, open: isOpen(policies) });
}

/**
 * True if every client may do everything. Only the initial policy of development mode opens the administration, too.
 */
function isOpen(policies: Services['policies']): boolean {
  try {
    return policies.find(ANONYMOUS, 'update', '_admin') !== null;
  } catch {
    // While the policies cannot be read, nothing is open.
    return false;
  }
}

/**
 * In production, without an administrator: the link that creates one. It is printed, so every reader of this output can
 * use it. Otherwise null.
 */
async function offerSetUp({ config, auth }: Services, url: string): Promise<string | null> {
  if (config.mode !== 'production' || (await auth.firstAdmin.exists())) return null;
  return auth.firstAdmin.link(config.server.publicUrl ?? `${url}${config.server.basePath}`);
}

/** Starts the embedded database if needed, and loads the program while mongod opens its files. */
async function open(
  config: Config,
  assignment: WorkerAssignment | null,
): Promise<[EmbeddedDatabase | undefined, typeof import('./services.ts')]> {
  const spawned = Promise.withResolvers<void>();
  const starting = isEmbedded(config) && assignment === null ? embed(config, spawned.resolve) : undefined;
  await Promise.race([starting, spawned.promise]);
  const [parts] = await Promise.all([import('./services.ts'), import('./app.ts')]);
  return [await starting, parts];
}

function isEmbedded(config: Config): boolean {
  return config.database.url === undefined;
}

function embed(config: Config, onSpawned: () => void): Promise<EmbeddedDatabase> {
  const { binary } = config.database;
  return startEmbeddedDatabase({ folder: config.folder, binary, onProgress: (line) => print(`  ${line}`), onSpawned });
}

/** Fails when the embedded database ends unexpectedly. */
async function lost(embedded: EmbeddedDatabase, stopping: Promise<string>): Promise<string> {
  const exit = await Promise.race([embedded.exited, stopping]);
  if (typeof exit === 'string') return exit;
  throw new UnusableDatabase(
    `The embedded MongoDB exited: ${exit.reason}. Start again; no acknowledged write is lost.`,
  );
}

/** Continues to serve when the reader of our output has closed it (EPIPE). */
function serveUnheard(): void {
  for (const out of [process.stdout, process.stderr]) {
    out.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

function makeLog(config: Config, assignment: WorkerAssignment | null): Logger {
  const base = assignment && { pid: process.pid, hostname: hostname(), worker: assignment.number };
  const options = { level: config.logLevel, ...(base && { base }) };
  return config.mode === 'development' ? pino(options, consoleLogStream(process.stdout)) : pino(options);
}

async function withinTime(task: Promise<unknown>, limitMs: number): Promise<void> {
  const timer = new Promise((resolve) => setTimeout(resolve, limitMs).unref());
  await Promise.race([task, timer]);
}

function print(text: string): 0 {
  process.stdout.write(`${text}\n`);
  return 0;
}

/** The error as text for the person who started the program, with a stack only for unexpected errors. */
function explain(error: unknown): string {
  if (error instanceof SuppressedError) return `${explain(error.suppressed)}\n${explain(error.error)}`;
  if (error instanceof MillraceError) return `${error.message}${error.hint ? `\n${error.hint}` : ''}`;
  if (error instanceof ConfigError || error instanceof UnusableDatabase || error instanceof WorkerFailed)
    return error.message;
  const missing = missingNativeBinding(error);
  if (missing !== null) return missing;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

try {
  process.exit(await main());
} catch (error) {
  if (!(error instanceof WorkerFailed && error.hasExplained)) process.stderr.write(`\n${explain(error)}\n`);
  process.exit(1);
}
