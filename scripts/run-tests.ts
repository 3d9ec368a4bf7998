/**
 * Runs tap over the tests with one MongoDB for all of them, and says in its last line what tap counted:
 * `N passed, N failed, N skipped`. Not here: what a fresh clone needs first (test.mjs).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../src/database/embedded/embedded.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TAP = join(ROOT, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs');
const FILE_TIMEOUT_S = 300;
const JOBS = 2;

const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
let tap: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap?.kill(signal));
try {
  const database = await startEmbedded({ folder, onProgress: (line) => console.error(line) });
  try {
    const results = join(folder, 'results.tap');
    process.exitCode = await runTap(database.url, results);
    const counts = await countsOf(results);
    if (counts === null) process.exitCode ||= 1;
    console.log(`${counts?.pass ?? 0} passed, ${counts?.fail ?? 0} failed, ${counts?.skip ?? 0} skipped`);
  } finally {
    await database.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function runTap(url: string, results: string): Promise<number> {
  const words = ['run', '--disable-coverage', `--jobs=${JOBS}`, `--timeout=${FILE_TIMEOUT_S}`];
  const child = spawn(process.execPath, [TAP, ...words, `--output-file=${results}`, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, MILLRACE_TEST_MONGODB_URL: url },
  });
  tap = child;
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

interface Counts {
  pass: number;
  fail: number;
  skip: number;
}

/** tap's own totals, its last comment: `# { total: 5, pass: 3, fail: 1, skip: 1 }`; `null` when it wrote none. */
async function countsOf(results: string): Promise<Counts | null> {
  const text = await readFile(results, 'utf8').catch(() => '');
  const totals = [...text.matchAll(/^# \{ (total: .*) \}$/gm)].at(-1)?.[1];
  if (totals === undefined) return null;
  const count = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(totals)?.[1] ?? 0);
  return { pass: count('pass'), fail: count('fail'), skip: count('skip') + count('todo') };
}
