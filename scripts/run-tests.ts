/**
 * Runs the tests with tap, with one MongoDB for all of them. The last line has tap's totals: `N passed, N failed, N
 * skipped`. Not here: installing what a fresh clone needs first (test.mjs).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../src/database/embedded/embedded.ts';
import { TapLines } from './tap-lines.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TAP = join(ROOT, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs');
const FILE_TIMEOUT_S = 300;
const JOBS = 2;

const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
let tap: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap?.kill(signal));
try {
  const binary = process.env['MONGOD_BINARY'];
  const database = await startEmbedded({ folder, binary, onProgress: (line) => console.error(line) });
  try {
    process.exitCode = await runTap(database.url);
  } finally {
    await database.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function runTap(url: string): Promise<number> {
  const words = ['run', '--disable-coverage', `--jobs=${JOBS}`, `--timeout=${FILE_TIMEOUT_S}`, '--reporter=tap'];
  const child = spawn(process.execPath, [TAP, ...words, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MILLRACE_TEST_MONGODB_URL: url },
  });
  tap = child;
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
  const lines = new TapLines();
  for await (const line of createInterface({ input: child.stdout })) {
    for (const shown of lines.feed(line)) console.log(shown);
  }
  for (const shown of lines.rest()) console.log(shown);
  const code = await ended;
  const { pass, fail, skip } = lines.totals ?? { pass: 0, fail: 0, skip: 0 };
  console.log(`${pass} passed, ${fail} failed, ${skip} skipped`);
  // A run without totals was cut off, so it has failed.
  return lines.totals === null ? code || 1 : code;
}
