/** Errors that no test of a process catches: each fails the process, and the tests after it are run. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';

const STRAY_ERRORS = import.meta.resolve('../../scripts/stray-errors.ts');
const LATER = 'await new Promise((resolve) => setTimeout(resolve, 20));';
/** Its place: here the name stands for the test of this file. */
const TAP = new URL('../../node_modules/tap/dist/esm/index.js', import.meta.url).href;
/** Bodies of tests that would pass, but for an error that is not theirs. */
const BODIES = {
  'is thrown by a timer of an inner test': `await t.test('inner', async () => { setTimeout(() => { throw new Error('stray'); }, 1); ${LATER} });`,
  'is a rejection that nobody handles': `void Promise.reject(new Error('stray')); ${LATER}`,
  'is thrown when its test has ended': `setTimeout(() => { throw new Error('stray'); }, 20);`,
};

/** Runs a test with this body between two that pass. */
function run(t: Test, body: string): Promise<{ readonly code: unknown; readonly output: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-stray-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'a.test.ts');
  const good = (name: string) => `t.test('${name}', async (t) => { t.ok(true); });`;
  const lines = [`import t from '${TAP}';`, good('first'), `t.test('bad', async (t) => { ${body} });`];
  writeFileSync(file, [...lines, good('last'), ''].join('\n'));
  const env = { ...process.env, NODE_OPTIONS: '' };
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', STRAY_ERRORS, file], { cwd: folder, env }, (error, output) => {
      resolve({ code: error === null ? 0 : error.code, output });
    });
  });
}

for (const [what, body] of Object.entries(BODIES)) {
  t.test(`an error that ${what}`, async (t) => {
    const { code, output } = await run(t, body);
    t.equal(code, 1, output);
    t.match(output, /^ *not ok \d+ - stray$/m);
    t.match(output, /^ok \d+ - last/m);
  });
}

t.test('tests of the project are run so', (t) => {
  t.equal(import.meta.resolve('async-hook-domain'), STRAY_ERRORS);
  t.end();
});

t.test('without such an error all is well', async (t) => {
  const { code, output } = await run(t, 't.ok(true);');
  t.equal(code, 0, output);
});
