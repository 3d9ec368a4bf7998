/** What a start does before there are packages: it installs when the lockfile says so, and only then. */
import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';

const run = promisify(execFile);
const INSTALL = fileURLToPath(new URL('../../scripts/install.mjs', import.meta.url));

type Packages = Readonly<Record<string, object>>;

const REQUESTED: Packages = {
  '': { name: 'a-project' },
  'node_modules/fastify': { version: '5.0.0' },
  'node_modules/tap': { version: '21.0.0', dev: true },
  'node_modules/node-other-system': { version: '24.0.0', optional: true },
};

/** A project with a lockfile, what npm says is there, and an npm that only writes down what it was asked for. */
async function request(t: Test, present: Packages | null, dev: boolean, npmExit = 0) {
  const root = t.testdir();
  for (const folder of ['scripts', 'node_modules', 'bin']) mkdirSync(join(root, folder));
  copyFileSync(INSTALL, join(root, 'scripts', 'install.mjs'));
  writeFileSync(
    join(root, 'scripts', 'ask.mjs'),
    `import { ensureInstalled, main } from './install.mjs';\nawait main(() => ensureInstalled({ dev: ${dev} }));\n`,
  );
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: REQUESTED }));
  if (present !== null) {
    writeFileSync(join(root, 'node_modules', '.package-lock.json'), JSON.stringify({ packages: present }));
  }
  const requested = join(root, 'asked');
  writeFileSync(join(root, 'bin', 'npm'), `#!/bin/sh\necho "$PWD: $*" > '${requested}'\nexit ${npmExit}\n`);
  chmodSync(join(root, 'bin', 'npm'), 0o755);
  const env = { PATH: `${join(root, 'bin')}:/usr/bin:/bin` };
  const ended = await run(process.execPath, [join(root, 'scripts', 'ask.mjs')], { env }).catch((error) => error);
  return {
    code: ended.code ?? 0,
    errors: String(ended.stderr),
    npm: existsSync(requested) ? readFileSync(requested, 'utf8').replace(`${root}: `, '').trim() : null,
  };
}

const CI = 'ci --ignore-scripts --no-audit --no-fund --loglevel=error';
const { 'node_modules/fastify': fastify = {}, 'node_modules/tap': tap = {} } = REQUESTED;

t.test('a fresh clone is installed, and says why', async (t) => {
  const { npm, errors, code } = await request(t, null, false);
  t.equal(npm, CI);
  t.match(errors, /Installing packages \(fastify is missing\)/);
  t.equal(code, 0);
});

t.test('what is there is left alone', async (t) => {
  const { npm, errors } = await request(t, { 'node_modules/fastify': fastify, 'node_modules/tap': tap }, true);
  t.equal(npm, null);
  t.equal(errors, '');
});

t.test('a start does without what only developers need, the tests do not', async (t) => {
  const present = { 'node_modules/fastify': fastify };
  t.equal((await request(t, present, false)).npm, null);
  t.equal((await request(t, present, true)).npm, CI);
});

t.test('another version is not the one asked for, optional or not', async (t) => {
  t.equal((await request(t, { 'node_modules/fastify': { version: '4.9.9' } }, false)).npm, CI);
  const old = { 'node_modules/fastify': fastify, 'node_modules/node-other-system': { version: '22.0.0' } };
  t.equal((await request(t, old, false)).npm, CI);
});

t.test('a failed installation is one line with what to look at', async (t) => {
  const { code, errors } = await request(t, null, false, 7);
  t.equal(code, 1);
  t.match(errors, /npm ci failed with exit code 7\. .*Is the network reachable\?\n$/);
  t.notMatch(errors, / at /);
});
