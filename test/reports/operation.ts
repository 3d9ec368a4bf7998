/** Reports about starting, ending, and running out of space. */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startMillrace, withoutSettings } from '../helpers/programs/millrace.ts';
import type { Mode, Product, Reply, Report } from './report.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = join(ROOT, 'src', 'main.ts');

type End = () => Promise<unknown> | unknown;

/** Runs something in a folder of its own; what was started in it ends, and the folder goes. */
async function inFolder(work: (folder: string, ends: { teardown(end: End): void }) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-report-'));
  const ends: End[] = [];
  try {
    await work(folder, { teardown: (end) => void ends.push(end) });
  } finally {
    for (const end of ends.reverse()) await end();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs the program to its end. */
async function ended(env: Readonly<Record<string, string>>, before: readonly string[] = []) {
  const settings = { ...withoutSettings(process.env), MILLRACE_LOG_LEVEL: 'warn', ...env };
  const child = spawn(process.execPath, [...before, MAIN], {
    cwd: ROOT,
    env: settings,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const [code] = await once(child, 'close');
  return { code, output };
}

async function restartsQuietly(mode: Mode): Promise<void> {
  await inFolder(async (folder, t) => {
    const env = { MILLRACE_MODE: mode };
    for (let start = 1; start <= 3; start += 1) {
      const program = await startMillrace(t, { folder, env });
      equal((await fetch(`${program.url}/readyz`)).status, 200);
      await program.end('SIGINT');
      ok(!/"level":50|Background work failed|cluster time/.test(program.output()), program.output());
    }
  });
}

async function failsQuietly({ url }: Product): Promise<void> {
  await inFolder(async (folder) => {
    const { code, output } = await ended({ MILLRACE_DATA_DIR: folder, PORT: new URL(url).port });
    equal(code, 1);
    match(output, /another program listens there/);
    ok(!/^ +at |"stack"|Background work/m.test(output), output);
  });
}

/** A disk of 420 MB, or null where none can be made. */
async function smallDisk(folder: string): Promise<string | null> {
  const disk = join(folder, 'disk');
  await mkdir(disk);
  return run('mount', ['-t', 'tmpfs', '-o', 'size=420m', 'tmpfs', disk]).then(
    () => disk,
    () => null,
  );
}

async function fillDisk(): Promise<void> {
  await inFolder(async (folder, t) => {
    const disk = await smallDisk(folder);
    if (disk === null) {
      console.log('  (no file system can be mounted here: not tried)');
      return;
    }
    t.teardown(() => run('umount', [disk]));
    const program = await startMillrace(t, { folder: join(disk, 'data') });
    const send = async (method: string, path: string, body?: object): Promise<Pick<Reply, 'status' | 'body'>> => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(program.url + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    };
    const create = () => send('POST', '/api/docs', { text: randomBytes(150_000).toString('hex') });
    const ids: string[] = [];
    let refusal: Pick<Reply, 'status' | 'body'> | undefined;
    while (refusal === undefined && ids.length < 1_000) {
      for (const reply of await Promise.all([create(), create(), create(), create()])) {
        if (reply.status === 201) ids.push(reply.body.id);
        else refusal ??= reply;
      }
    }
    equal(refusal?.status, 507);
    match(refusal?.body.detail, /almost full/);
    const [first = '', second = ''] = ids;
    equal((await send('GET', `/api/docs/${first}`)).status, 200);
    equal((await send('PATCH', `/api/docs/${second}`, { n: 1 })).status, 507);
    equal((await send('DELETE', `/api/docs/${first}`)).status, 204);
    equal((await send('GET', '/admin/status')).body.disk.level, 'low');
    await program.end('SIGINT');
    ok(!/^ +at /m.test(program.output()), program.output());
    await run('fallocate', ['-l', '1G', join(disk, 'ballast')]).catch(() => undefined);
    await run('dd', ['if=/dev/zero', `of=${join(disk, 'more')}`, 'bs=1M']).catch(() => undefined);
    const { code, output } = await ended({ MILLRACE_DATA_DIR: join(disk, 'data'), PORT: '0' });
    equal(code, 1);
    match(output, /is full: \d+ MB are free, and the embedded MongoDB needs \d+ MB to start/);
  });
}

export const reports: readonly Report[] = [
  {
    point: 'E1',
    title: 'Restarts on an existing folder log no error, and a start that fails says only why',
    async run(product) {
      await restartsQuietly(product.mode);
      await failsQuietly(product);
    },
  },
  {
    point: 'E2',
    title: 'Ctrl-C ends a start at once, and nothing of it goes on',
    async run() {
      await inFolder(async (folder, t) => {
        const program = await startMillrace(t, { folder, entry: 'scripts/start.mjs' });
        const since = performance.now();
        equal(await program.end('SIGINT'), 0);
        ok(performance.now() - since < 10_000);
        const { stdout } = await run('ps', ['-eo', 'ppid=,args=']);
        ok(!stdout.split('\n').some((line) => line.trim().startsWith(`${program.child.pid} `)));
      });
    },
  },
  {
    point: 'E5',
    title: 'An older Node and a package without its binary part are one clear line',
    async run() {
      const hook = (code: string) => ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
      const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
      const old = await ended({}, hook(older));
      deepEqual([old.code, old.output.trim().split('\n').length], [1, 1]);
      match(old.output, /needs Node 24 or newer, and this is Node 20\.20\.2/);
      const incomplete = `import { registerHooks } from 'node:module'; registerHooks({ resolve(name, context, next) {
        if (/argon2[-.]/.test(name)) throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
        return next(name, context); } })`;
      const { code, output } = await ended({ MONGODB_URL: 'mongodb://127.0.0.1:1' }, hook(incomplete));
      notEqual(code, 0);
      match(output.trim(), /^@node-rs\/argon2 lacks its binary part .* npm install --include=optional$/);
    },
  },
  {
    point: 'E8',
    title: 'Before the disk is full new writes get 507, reads and deletions go on, and a start on a full disk says so',
    async run() {
      await fillDisk();
    },
  },
];
