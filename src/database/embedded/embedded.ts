/**
 * The program's own MongoDB: finds or downloads a mongod and runs it beside the program as a replica set of one member,
 * on a free loopback port, with its data in one folder. Only operating system users that may read this folder can sign
 * in. Not for production: there, MONGODB_URL names a deployment.
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { platform } from 'node:process';
import { formatMegabytes, freeDiskBytes, LOW_DISK_BYTES } from '../../lib/disk-space.ts';
import { MillraceError } from '../../lib/errors.ts';
import { connectionString, type EmbeddedCredentials, loadEmbeddedCredentials } from './credentials.ts';
import { claimDataFolder, folderInUseError } from './data-dir-lock.ts';
import { findMongod } from './find-mongod.ts';
import { type MongodExit, spawnMongod } from './mongod.ts';
import { findFreePort, waitForPort } from './port.ts';

export interface EmbeddedDatabaseOptions {
  /** Folder for data and log, created if missing. Only one program can use it at a time. */
  readonly folder: string;
  /** The mongod to run; by default one is found or downloaded. */
  readonly binary?: string | undefined;
  /** Called with one line of text before each step that can take seconds. */
  readonly onProgress?: (line: string) => void;
  /** Free bytes of the file system of a folder; for tests. */
  readonly measure?: (folder: string) => Promise<number>;
  /** Called when mongod is opening its files, for concurrent work of the caller. */
  readonly onSpawned?: () => void;
}

export interface EmbeddedDatabase {
  /** A connection string, with the password of the program's user. */
  readonly url: string;
  /** The server's version, such as `6.0.5`. */
  readonly version: string;
  readonly pid: number;
  /** Resolves when the server has ended, for whatever reason; never rejects. */
  readonly exited: Promise<MongodExit>;
  /** Ends the server cleanly; may be called again. */
  stop(): Promise<void>;
}

/** Long, because recovery of a large folder after a crash takes time. */
const START_LIMIT_MS = 120_000;
const PORT_ATTEMPTS = 3;
/** Free bytes that a start needs: MongoDB creates new journal files and replays the old ones. */
const START_BYTES = 48 * 1_048_576;
/** Part of this within which a MongoDB registers itself in the folder, or is ended with its program. */
const IN_USE_LIMIT_MS = 5_000;
const SET_NAME = 'millrace';
/** mongod's exit codes for a folder in use and for a port in use (MongoDB manual, "Exit Codes and Statuses"). */
const FOLDER_IN_USE = 100;
const PORT_IN_USE = 48;

/** Starts the MongoDB and waits until it accepts writes. @throws MillraceError `database-unavailable`, with a hint. */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const folder = resolve(options.folder);
  const onProgress = options.onProgress ?? (() => {});
  await mkdir(join(folder, 'data'), { recursive: true, mode: 0o700 }).catch((error: Error) => {
    throw new MillraceError('database-unavailable', `The data folder cannot be created: ${error.message}.`);
  });
  await requireSpace(folder, options.measure);
  const data = join(folder, 'data');
  await claimDataFolder(data, onProgress);
  const credentials = await loadEmbeddedCredentials(folder);
  const binary = await findMongod({ binary: options.binary, onProgress });
  const giveUp = performance.now() + IN_USE_LIMIT_MS;
  for (let left = PORT_ATTEMPTS; ; left -= 1) {
    const outcome = await startOn(await findFreePort(), binary, folder, credentials, options.onSpawned);
    if ('url' in outcome) return outcome;
    if (outcome.code === PORT_IN_USE && left > 1) continue;
    if (outcome.code === FOLDER_IN_USE) {
      // A program that was killed a moment ago may have left a MongoDB that was still starting at the first check.
      await claimDataFolder(data, onProgress);
      if (performance.now() < giveUp) continue;
      throw folderInUseError(data, null);
    }
    const log = join(folder, 'mongod.log');
    throw new MillraceError('database-unavailable', `MongoDB did not start: ${outcome.reason}.`, {
      hint: `Its log is ${log}.`,
    });
  }
}

/** Rejects a start without enough disk space: MongoDB would end during it. */
async function requireSpace(folder: string, measure = freeDiskBytes): Promise<void> {
  const free = await measure(folder).catch(() => Number.POSITIVE_INFINITY);
  if (free >= START_BYTES) return;
  throw new MillraceError(
    'database-unavailable',
    `The disk of the data folder ${folder} is full: ${formatMegabytes(free)} are free, and the embedded MongoDB needs ${formatMegabytes(START_BYTES)} to start.`,
    {
      hint: `New data requires ${formatMegabytes(LOW_DISK_BYTES)} of free space. Free some space, or move the folder to a larger disk and set MILLRACE_DATA_DIR.`,
    },
  );
}

/** One attempt on one port. Returns the running database, or how mongod ended if it did not start. */
async function startOn(
  port: number,
  binary: string,
  folder: string,
  credentials: EmbeddedCredentials,
  onSpawned?: () => void,
): Promise<EmbeddedDatabase | MongodExit> {
  const log = join(folder, 'mongod.log');
  const mongod = await spawnMongod(binary, words(port, join(folder, 'data'), log, credentials.keyFile), log);
  onSpawned?.();
  const gone = new AbortController();
  mongod.exited.then(() => gone.abort());
  const limit = AbortSignal.any([gone.signal, AbortSignal.timeout(START_LIMIT_MS)]);
  try {
    // Loaded here and not above: loading the driver takes as long as mongod needs to open its files, so both happen
    // concurrently.
    const { formReplicaSet } = await import('./replica-set.ts');
    await waitForPort(port, limit);
    const { version } = await formReplicaSet({ name: SET_NAME, port, mongodPid: mongod.pid, credentials }, limit);
    const url = connectionString(port, SET_NAME, credentials.password);
    return { url, version, pid: mongod.pid, exited: mongod.exited, stop: async () => void (await mongod.stop()) };
  } catch (error) {
    const exit = await mongod.stop();
    return exit.code === 0 ? { code: 0, reason: reasonOf(error) } : exit;
  }
}

/** Why the start of a running server was aborted. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'TimeoutError' ? `it was not ready after ${START_LIMIT_MS / 1000} s` : error.message;
}

/** The command line. The limits are small, because this server runs on a developer's machine beside other programs. */
function words(port: number, data: string, log: string, keyFile: string): string[] {
  const parameters = {
    // Even while no user exists, a connection needs a credential: a start signs in by the key.
    enableLocalhostAuthBypass: false,
    authenticationMechanisms: 'SCRAM-SHA-256',
    // The smallest number that MongoDB allows. Iterations slow down guessing of weak passwords, and the secrets here
    // are 256 random bits.
    scramSHA256IterationCount: 5000,
    transactionLifetimeLimitSeconds: 10,
    diagnosticDataCollectionEnabled: false,
    shutdownTimeoutMillisForSignaledShutdown: 1000,
  };
  return [
    ...['--replSet', SET_NAME, '--bind_ip', '127.0.0.1', '--port', String(port)],
    ...['--dbpath', data, '--logpath', log, '--logappend', '--keyFile', keyFile],
    ...['--networkMessageCompressors', 'disabled'],
    // Otherwise slow commands would be logged with all their values, such as hashes of passwords and tokens.
    ...['--slowOpSampleRate', '0', '--quiet'],
    ...['--wiredTigerCacheSizeGB', '0.5', '--oplogSize', '1024'],
    // A start reads the whole journal file: 16 MB instead of 100 MB saves a quarter of a second, and 250 MB of disk.
    ...['--wiredTigerEngineConfigString', 'log=(file_max=16MB)'],
    ...(platform === 'win32' ? [] : ['--nounixsocket']),
    ...Object.entries(parameters).flatMap(([name, value]) => ['--setParameter', `${name}=${value}`]),
  ];
}
