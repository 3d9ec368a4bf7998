/** The runner of the tests, run on small test files of its own: what it counts, what it says, how it ends. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { LONGEST, MEASURING, testFiles } from '../../scripts/test-files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The files stand outside of the project, where no run of all tests finds them, and no package. */
const HEADING = `import t from '${new URL('../../node_modules/tap/dist/esm/index.js', import.meta.url)}';`;
/** Each has a process of its own, because they measure it. */
const FILES = {
  'good/good.test.ts': `process.cpuUsage(); t.test('one', async (t) => { t.ok(true); t.equal(1, 1); }); t.test('two', { skip: 'later' }, async () => {});`,
  'bad/bad.test.ts': `process.cpuUsage(); t.test('one', async (t) => { t.ok(true, 'fine'); t.equal(1, 2, 'one is two'); });`,
  'killed/killed.test.ts': `process.cpuUsage(); t.test('one', async (t) => { t.ok(true); process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}); });`,
};

function run(words: readonly string[]): Promise<{ code: unknown; output: string; errors: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'scripts/run-tests.ts'), ...words], (error, output, errors) => {
      resolve({ code: error === null ? 0 : error.code, output, errors });
    });
  });
}

t.test('what the runner counts and says', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tests-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const write = (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), `${HEADING}\n${text}\n`);
    }
  };
  const passes = "t.test('one', async (t) => { t.ok(true); });";
  write({
    ...FILES,
    // Files share a process, also those of different folders, but one that measures.
    'shared/a.test.ts': `${passes} t.teardown(() => { globalThis.ended = true; }); process.env['TEST_SETTING'] = 'a';`,
    'shared/b.test.ts': `t.test('later', async (t) => { await new Promise(setImmediate); t.equal(1, 2, 'one is two'); });`,
    'shared/c/c.test.ts': `t.equal(process.env['TEST_SETTING'], undefined); t.ok(globalThis.ended, 'what a file made is gone');`,
    'shared/own.test.ts': `t.ok(process.argv[1].endsWith('own.test.ts') && process.cpuUsage().user > 0);`,
  });

  const all = await run([folder]);
  t.equal(all.code, 1);
  t.equal(all.output.trimEnd().split('\n').at(-1), '7 passed, 3 failed, 1 skipped', all.output + all.errors);
  t.match(all.output, /^✓ \d\/5 {2}0:\d\d {2}.*good\.test\.ts \(2 passed, \d+\.\d s, processor \d+\.\d s\)$/m);
  t.match(all.output, /not ok 2 - one is two[\s\S]*✗ \d\/5 .*bad\.test\.ts \(1 passed, /);
  t.match(all.output, / {2}ended by SIGKILL\n✗ \d\/5 .*killed\.test\.ts/);
  t.match(all.output, /✗ \d\/5 .*shared: a, b; .*shared\/c: c \(3 passed, /);
  t.match(all.output, /✓ \d\/5 .*own\.test\.ts \(1 passed, /);
  t.notMatch(all.output, 'ok 1 - fine');
  t.notMatch(all.output, '\x1b', 'plain lines');

  const one = await run([join(folder, 'good/good.test.ts')]);
  t.equal(one.code, 0);
  t.match(one.output, /two # SKIP later\n✓[^\n]*\n2 passed, 0 failed, 1 skipped\n$/);

  // An error that no test waits for is a failure: in a process of several files, and in one of its own.
  const OWN = 'process.cpuUsage();';
  write({
    'astray/a.test.ts': `${passes} t.test('two', async () => { Promise.reject(new Error('astray')); await new Promise(setImmediate); });`,
    'astray/b.test.ts': passes,
    'astray/timer.test.ts': `${OWN} t.test('one', async () => { await new Promise((resolve) => setImmediate(() => { resolve(); throw new Error('thrown'); })); });`,
    'astray/import.test.ts': `${OWN} ${passes} throw new Error('not loaded');`,
  });
  const { code, output, errors } = await run([join(folder, 'astray')]);
  t.equal(code, 1);
  for (const said of [/astray/, /thrown/, /not loaded/]) t.match(output + errors, said);
  for (const name of ['astray: a, b', 'astray/timer.test.ts', 'astray/import.test.ts']) {
    t.match(output, new RegExp(`^✗ \\d/3 .*${name} `, 'm'), output);
  }
  t.match(output, /^\d+ passed, [3-9] failed, 0 skipped\n$/m);

  const none = await run([join(folder, 'absent.test.ts')]);
  t.equal(none.code, 1);
  t.match(none.errors, /^There is no test .*absent\.test\.ts/);
});

t.test('all files are run, each once: the longest first, those that measure last', async (t) => {
  const { together: processes, last } = testFiles(ROOT, []);
  const together = processes.flat();
  t.strictSame(processes.slice(0, LONGEST.length), LONGEST, 'they are there');
  t.strictSame(last, MEASURING, 'so are they');
  const all = [...together, ...last.flat()];
  t.equal(new Set(all).size, all.length);
  t.ok(together.includes('test/tidy.test.ts') && together.includes('test/collections/crud.test.ts'));
});
