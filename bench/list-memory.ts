/**
 * A list of 200,000 documents from the running program: growth of its memory, how long its event loop is blocked, the
 * time to the first byte, and the speed of the rest. Run: `node bench/list-memory.ts [rounds]`. The figures of the
 * event loop mean little on a busy machine; its load is printed.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Program, startMillrace } from '../test/helpers/programs/millrace.ts';
import { runSeed } from '../test/helpers/programs/seed.ts';
import { machine } from './rounds.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const SAMPLE_MS = 10;
/**
 * Node chooses the size of the young generation of its heap by the machine's memory, up to 134 MB, and collects it only
 * when it is full. It is kept small here, so that the figures show what the list needs.
 */
const YOUNG = '--max-semi-space-size=8';
const TARGETS = 'targets: growth < 64 MB, p99 < 50 ms, first byte < 100 ms';

/** A field of /proc/<pid>/status, in bytes (Linux). */
function memory(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) * 1_024;
}

/** Resolves when the program is nearly idle: its recorder has recorded all loaded documents. */
async function quiet(pid: number): Promise<void> {
  const ticks = () => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // utime and stime, the 14th and 15th field of proc(5), in hundredths of a second.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  };
  for (let before = ticks(), calm = 0; calm < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const now = ticks();
    calm = now - before <= 3 ? calm + 1 : 0;
    before = now;
  }
}

interface Read {
  readonly firstByteMs: number;
  readonly totalMs: number;
  readonly bytes: number;
}

function readAll(url: string): Promise<Read> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const request = http.get(url, { agent: false }, (response) => {
      let firstByteMs = 0;
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        if (bytes === 0) firstByteMs = performance.now() - started;
        bytes += chunk.length;
      });
      response.once('error', reject);
      response.once('end', () => resolve({ firstByteMs, bytes, totalMs: performance.now() - started }));
    });
    request.once('error', reject);
  });
}

/** The measurements of the hook in the program (loop-delay.ts) since the last call. */
async function loopDelay({ child, output }: Program): Promise<{ p50: number; p99: number; max: number }> {
  const before = output().length;
  child.kill('SIGUSR2');
  for (;;) {
    const found = /^loop-delay (.*)$/m.exec(output().slice(before))?.[1];
    if (found !== undefined) return JSON.parse(found);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
const ms = (time: number) => `${time.toFixed(0)} ms`;

/** Measures a program that has handled only one small request so far. */
async function measure(program: Program): Promise<void> {
  const pid = program.child.pid ?? 0;
  const list = `${program.url}/api/flights`;
  await readAll(`${program.url}/healthz`);
  await quiet(pid);
  const loads = loadavg().map((load) => load.toFixed(1));
  console.log(`${machine()}, load ${loads.join(' ')}\n${TARGETS}`);
  const idle = memory(pid, 'VmRSS');
  console.log(`idle: ${mb(idle)}`);
  await loopDelay(program);
  for (let round = 1; round <= ROUNDS; round++) {
    let peak = 0;
    const sampling = setInterval(() => {
      peak = Math.max(peak, memory(pid, 'VmRSS'));
    }, SAMPLE_MS);
    const { firstByteMs, totalMs, bytes } = await readAll(list);
    clearInterval(sampling);
    const { p50, p99, max } = await loopDelay(program);
    console.log(
      `list ${round}: growth ${mb(peak - idle)}, loop p50 ${p50} p99 ${p99} max ${max} ms, ` +
        `first byte ${ms(firstByteMs)}, ${mb(bytes)} in ${ms(totalMs)}`,
    );
  }
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const endings: (() => unknown)[] = [];
try {
  const hook = fileURLToPath(new URL('loop-delay.ts', import.meta.url));
  const start = () =>
    startMillrace(
      { teardown: (ending) => endings.push(ending) },
      { folder, nodeWords: [YOUNG, '--import', hook], env: { MILLRACE_LOG_LEVEL: 'error' } },
    );
  const loaded = await start();
  const seeded = await runSeed(['flights', '--url', loaded.url]);
  if (seeded.code !== 0) throw new Error(`${seeded.errors}\n${loaded.output()}`);
  console.log(seeded.output);
  await quiet(loaded.child.pid ?? 0);
  console.log(`after loading: ${mb(memory(loaded.child.pid ?? 0, 'VmRSS'))}`);
  await loaded.end('SIGTERM');

  const program = await start();
  await measure(program);
  await program.end('SIGTERM');
} finally {
  for (const ending of endings) await ending();
  await rm(folder, { recursive: true, force: true });
}
