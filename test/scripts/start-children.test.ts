/**
 * What a start runs beside the program (an installation, the build of the dashboard) ends with it, and delays no exit. A
 * project of its own, whose npm never ends, takes the place of this one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { findProcess } from '../../src/database/embedded/process-info.ts';
import { withoutSettings } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url));
/** The time that an exit may take, in milliseconds. */
const EXIT_MS = 5_000;
const SERVES = `process.on('SIGINT', () => process.exit(0)); process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
setInterval(() => {}, 1_000);
console.log('It serves');`;
const LOCK = (missing: boolean) => {
  const packages = { '': {}, ...(missing && { 'node_modules/absent': { version: '1.0.0' } }) };
  return JSON.stringify({ packages });
};

/** Starts a project; `npm ci` in it writes its pid to the file `npm.pid` and never ends. */
async function start(t: Test, files: Readonly<Record<string, string>>) {
  const root = t.testdir();
  cpSync(SCRIPTS, join(root, 'scripts'), { recursive: true });
  const all = {
    'package-lock.json': LOCK(false),
    'dashboard/package-lock.json': LOCK(true),
    'dashboard/index.html': '',
    'dashboard/vite.config.ts': '',
    'dashboard/src/a.ts': '',
    'client/a.ts': '',
    'src/commands/functions/templates.ts': '',
    'src/main.ts': SERVES,
    'npm.js': `import { writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(join(root, 'npm.pid'))}, String(process.pid));
process.on('SIGTERM', () => {}); process.on('SIGINT', () => {}); setInterval(() => {}, 1_000);`,
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const env = { ...withoutSettings(process.env), npm_execpath: join(root, 'npm.js'), npm_lifecycle_event: undefined };
  const child = spawn(process.execPath, [join(root, 'scripts', 'start.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  // Streams close when the last process has ended that writes to them.
  const closed = once(child, 'close');
  const pidFile = join(root, 'npm.pid');
  const npm = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0);
  t.teardown(() => {
    child.kill('SIGKILL');
    if (npm() > 0) spawn('kill', ['-9', String(npm())]);
  });
  return { child, closed, npm, output: () => output };
}

async function hasEnded(t: Test, { closed, npm, output }: Awaited<ReturnType<typeof start>>, code: number | null) {
  const since = performance.now();
  t.equal((await closed)[0], code);
  t.ok(performance.now() - since < EXIT_MS, 'at once');
  t.equal(await findProcess(npm()), null, 'npm has ended');
  t.notMatch(output(), /npm ci failed|could not be built|^ +at /m, 'an end is no error');
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
  t.test(`${signal} during the installation for the dashboard ends the start and the installation`, async (t) => {
    const program = await start(t, {});
    await until(() => program.npm() > 0 && program.output().includes('It serves'), 'npm and the program run');
    program.child.kill(signal);
    if (signal === 'SIGKILL') await until(async () => (await findProcess(program.npm())) === null, 'npm has ended');
    else await hasEnded(t, program, 0);
  });
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  t.test(`${signal} during the installation of the program itself ends both`, async (t) => {
    const program = await start(t, { 'package-lock.json': LOCK(true) });
    await until(() => program.npm() > 0, 'npm runs');
    program.child.kill(signal);
    await hasEnded(t, program, code);
  });
}

t.test('a start that fails does not wait for the dashboard', async (t) => {
  const pidFile = JSON.stringify(join(t.testdirName, 'npm.pid'));
  const fails = `import { existsSync } from 'node:fs';\nsetInterval(() => existsSync(${pidFile}) && process.exit(1), 20);`;
  const program = await start(t, { 'src/main.ts': fails });
  await until(() => program.npm() > 0, 'npm runs');
  await hasEnded(t, program, 1);
});
