/**
 * Runs the test files in four lanes, and those that measure after them. Each lane has its own MongoDB, and runs one
 * process after the other. The last line has the totals: `N passed, N failed, N skipped`. A process has one test file
 * or a few, and writes TAP.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { findMongod } from '../src/database/embedded/find-mongod.ts';
import { processorSeconds } from './processor-time.ts';
import { TapLines, type Totals } from './tap-lines.ts';
import { nameOf, type TestFiles, testFiles } from './test-files.ts';
import { type FileResult, TestProgress } from './test-progress.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Timeout of a file in seconds, unless it sets another one. */
const FILE_TIMEOUT_S = 300;
/** A file that has not ended by then is killed. */
const KILL_MS = 2_400_000;
const TICK_MS = 1_000;
/** Runs the files of a process. */
const PROCESS = fileURLToPath(new URL('test-process.ts', import.meta.url));
/**
 * For test processes, which create many objects and end soon: the heap is not collected before it has grown to 300 MB,
 * and the young generation starts at its full size of 16 MB. Otherwise V8 collects a heap of 10 MB dozens of times.
 */
const HEAP = ['--initial-old-space-size=300', '--min-semi-space-size=16'];
/**
 * Concurrent processes: for two processors twice as many, because a process waits for half of its time. Each has its
 * own database: a write wakes every change stream of its server. With 24 of them, an update costs the server three
 * times what it costs with none.
 */
const LANES = 4;
/**
 * How long the database supports snapshot reads of the past, in seconds; MongoDB's default is 300. It keeps the tables
 * of dropped databases as long. With 9,000 of them it used half a processor at rest, and every test creates dozens.
 */
const SNAPSHOT_WINDOW_S = 30;

/** A file system in memory, on Linux. */
const IN_MEMORY = '/dev/shm';
/** Maximum bytes of all databases and files of a run there. */
const ENOUGH_MEMORY = 8 * 1024 ** 3;

const running = new Set<ChildProcess>();
/** The processor time of all processes that have ended. */
let usedSeconds = 0;
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true;
    for (const child of running) child.kill(signal);
  });
}

const { together, last } = filesToRun();
const folder = await mkdtemp(join(await temporaryFolder(), 'millrace-test-'));
const databases: EmbeddedDatabase[] = [];
try {
  // Found once, before all: on a new machine it is downloaded now.
  const binary = await findMongod({ binary: process.env['MONGOD_BINARY'], onProgress: (line) => console.error(line) });
  const startOne = async (lane: number) => {
    const database = await startEmbeddedDatabase({ folder: join(folder, `database-${lane}`), binary });
    databases.push(database);
    await tune(database.url);
  };
  await Promise.all(Array.from({ length: Math.min(LANES, Math.max(1, together.length)) }, (_, lane) => startOne(lane)));
  process.exitCode = await runAll(databases.map(({ url }) => url));
} finally {
  await Promise.all(databases.map((one) => one.stop()));
  await rm(folder, { recursive: true, force: true });
}

/**
 * In memory if there is enough of it: a database waits for the disk at each acknowledged write, and a test's app writes
 * dozens of times before it is ready, which takes twice as long on a disk.
 */
async function temporaryFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= ENOUGH_MEMORY ? IN_MEMORY : tmpdir();
}

/** Makes the database remove dropped tables soon. */
async function tune(url: string): Promise<void> {
  const client = new MongoClient(url);
  await client.db('admin').command({ setParameter: 1, minSnapshotHistoryWindowInSeconds: SNAPSHOT_WINDOW_S });
  await client.close();
}

/** The requested tests; ends the program with one line if there are none. */
function filesToRun(): TestFiles {
  try {
    return testFiles(ROOT, process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}

/**
 * @param urls the databases, one for each lane
 * @returns the exit code: 0 if every file succeeded
 */
async function runAll(urls: readonly string[]): Promise<number> {
  const progress = new TestProgress(process.stdout, together.length + last.flat().length);
  const ticking = setInterval(() => progress.tick(), TICK_MS);
  const sum = { pass: 0, fail: 0, skip: 0 };
  const lane = async (url: string, take: () => readonly string[] | undefined) => {
    for (let files = take(); files !== undefined && !isStopped; files = take()) {
      progress.begin(nameOf(files));
      const { totals, ...result } = await runFiles(files, url);
      progress.end(result);
      sum.pass += totals.pass;
      sum.fail += totals.fail;
      sum.skip += totals.skip;
    }
  };
  // One lane starts with the first entry, the others with the last one: so two long ones rarely run together.
  const queue = [...together];
  await Promise.all(urls.map((url, n) => lane(url, () => (n === 0 ? queue.shift() : queue.pop()))));
  for (const files of last) {
    const rest = files.map((file) => [file]);
    await Promise.all(urls.map((url) => lane(url, () => rest.shift())));
  }
  clearInterval(ticking);
  progress.close();
  console.log(`${sum.pass} passed, ${sum.fail} failed, ${sum.skip} skipped`);
  return sum.fail === 0 && !isStopped ? 0 : 1;
}

async function runFiles(files: readonly string[], url: string): Promise<FileResult & { readonly totals: Totals }> {
  const file = nameOf(files);
  const started = performance.now();
  const program = [...HEAP, PROCESS, ...files];
  const child = spawn(process.execPath, program, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder, MILLRACE_TEST_MONGODB_URL: url, TAP_TIMEOUT: String(FILE_TIMEOUT_S) },
    timeout: KILL_MS,
    killSignal: 'SIGKILL',
  });
  running.add(child);
  const ended = once(child, 'close');
  const used = once(child, 'exit').then(newlyUsed);
  const tap = new TapLines();
  for await (const line of createInterface({ input: child.stdout })) tap.feed(line);
  const [code, signal] = await ended;
  running.delete(child);
  const isOk = code === 0 && tap.totals !== null && tap.totals.fail === 0;
  const { pass, fail, skip } = tap.totals ?? { pass: 0, fail: 0, skip: 0 };
  return {
    file,
    isOk,
    passed: pass,
    seconds: (performance.now() - started) / 1000,
    cpuSeconds: await used,
    files: tap.files,
    lines: isOk
      ? tap.skipped()
      : [`# ${file}`, ...tap.failures(), ...(signal === null ? [] : [`  ended by ${signal}`])],
    // A file that failed without a counted failure, such as a killed one, is one failure.
    totals: { pass, fail: isOk ? fail : Math.max(1, fail), skip },
  };
}

/**
 * The processor time of the process that just ended, with those that it waited for, in seconds. The system adds it
 * here when a child has ended.
 */
function newlyUsed(): number {
  const before = usedSeconds;
  usedSeconds = processorSeconds().ofChildren;
  return usedSeconds - before;
}
