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
const HEADING = `import t from '${import.meta.resolve('tap')}';`;
/** Files of different folders have a process each. */
const FILES = {
  'good/good.test.ts': `t.test('one', async (t) => { t.ok(true); t.equal(1, 1); }); t.test('two', { skip: 'later' }, async () => {});`,
  'bad/bad.test.ts': `t.test('one', async (t) => { t.ok(true, 'fine'); t.equal(1, 2, 'one is two'); });`,
  'killed/killed.test.ts': `t.test('one', async (t) => { t.ok(true); process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}); });`,
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
  write(FILES);

  const all = await run([folder]);
  t.equal(all.code, 1);
  t.equal(all.output.trimEnd().split('\n').at(-1), '3 passed, 2 failed, 1 skipped', all.output + all.errors);
  t.match(all.output, /^✓ \d\/3 {2}0:\d\d {2}.*good\.test\.ts \(2 passed, \d+\.\d s, processor \d+\.\d s\)$/m);
  t.match(all.output, /not ok 2 - one is two[\s\S]*✗ \d\/3 .*bad\.test\.ts/);
  t.match(all.output, / {2}ended by SIGKILL\n✗ \d\/3 .*killed\.test\.ts/);
  t.notMatch(all.output, 'ok 1 - fine');
  t.notMatch(all.output, '\x1b', 'plain lines');

  const one = await run([join(folder, 'good/good.test.ts')]);
  t.equal(one.code, 0);
  t.match(one.output, /two # SKIP later\n✓[^\n]*\n2 passed, 0 failed, 1 skipped\n$/);

  // Files of one folder share a process, but one that works at its top level.
  write({
    'shared/a.test.ts': FILES['good/good.test.ts'],
    'shared/b.test.ts': `t.test('later', async (t) => { await new Promise(setImmediate); t.equal(1, 2, 'one is two'); });`,
    'shared/c.test.ts': FILES['good/good.test.ts'],
    'shared/own.test.ts': `t.ok(process.argv[1].endsWith('own.test.ts'));`,
  });
  const shared = await run([join(folder, 'shared')]);
  t.match(shared.output, /✗ \d\/2 .*shared: a, b, c \(4 passed, /, shared.output);
  t.match(shared.output, /✓ \d\/2 .*own\.test\.ts \(1 passed, /);
  t.match(shared.output, /^5 passed, 1 failed, 2 skipped\n$/m);

  const none = await run([join(folder, 'absent.test.ts')]);
  t.equal(none.code, 1);
  t.match(none.errors, /^There is no test .*absent\.test\.ts/);
});

t.test('all files are run, each once: the longest first, those that measure alone', async (t) => {
  const { together: processes, alone } = testFiles(ROOT, []);
  const together = processes.flat();
  t.strictSame(together.slice(0, LONGEST.length), LONGEST, 'they are there');
  t.strictSame(alone, MEASURING, 'so are they');
  t.equal(new Set([...together, ...alone]).size, together.length + alone.length);
  t.ok(together.includes('test/tidy.test.ts') && together.includes('test/collections/crud.test.ts'));
});
