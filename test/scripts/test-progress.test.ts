/** How far a run of the tests has come, as a log and as a terminal show it. */
import t from 'tap';
import { TestProgress } from '../../scripts/test-progress.ts';

const ended = (file: string, seconds: number, isOk = true, lines: readonly string[] = []) => {
  const cpuSeconds = seconds / 2;
  return { file, isOk, passed: 3, seconds, cpuSeconds, files: [{ file, cpuSeconds }], lines };
};

function drawn(isTTY: boolean, act: (progress: TestProgress, pass: (seconds: number) => void) => void): string {
  let text = '';
  let now = 5_000;
  const screen = { isTTY, write: (more: string) => (text += more) };
  const progress = new TestProgress(screen, 12, () => now);
  act(progress, (seconds) => {
    now += seconds * 1_000;
  });
  return text;
}

t.test('a log has plain lines: each file that ended, what runs after a quiet time, the slowest', async (t) => {
  const text = drawn(false, (progress, pass) => {
    progress.begin('test/a.test.ts');
    progress.begin('test/b.test.ts');
    pass(2);
    progress.tick();
    progress.end(ended('test/b.test.ts', 2));
    progress.begin('test/c.test.ts');
    pass(60);
    progress.tick();
    progress.tick();
    progress.end(ended('test/c.test.ts', 60.04, false, ['# test/c.test.ts', 'not ok 1 - it broke']));
    progress.close();
  });
  t.strictSame(text.split('\n'), [
    '✓  1/12  0:02  test/b.test.ts (3 passed, 2.0 s, processor 1.0 s)',
    '…  1/12  1:02  running test/a.test.ts (62 s), test/c.test.ts (60 s)',
    '# test/c.test.ts',
    'not ok 1 - it broke',
    '✗  2/12  1:02  test/c.test.ts (3 passed, 60.0 s, processor 30.0 s)',
    'The slowest of 2 processes in 1:02:',
    '   60.0 s  test/c.test.ts',
    '    2.0 s  test/b.test.ts',
    'The files that took most of the processor:',
    '   30.0 s  test/c.test.ts',
    '    1.0 s  test/b.test.ts',
    '',
  ]);
});

t.test('only the ten slowest are named', async (t) => {
  const text = drawn(false, (progress) => {
    for (let n = 1; n <= 12; n++) progress.end(ended(`test/${n}.test.ts`, n));
    progress.close();
  });
  const [slowest = ''] = text.split('The files that took most');
  const named = [...slowest.matchAll(/ s {2}test\/(\d+)\.test\.ts$/gm)].map(([, n]) => Number(n));
  t.strictSame(named, [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
});

t.test('a terminal has a line more, which is drawn over', async (t) => {
  const text = drawn(true, (progress, pass) => {
    progress.begin('test/a.test.ts');
    pass(1);
    progress.tick();
    progress.end(ended('test/a.test.ts', 1));
    progress.close();
  });
  const shown = text.split('\n').map((line) => line.split('\r\x1b[K').at(-1));
  t.match(text, '\r\x1b[K   0/12  0:01  running test/a.test.ts (1 s)');
  t.strictSame(shown, ['✓  1/12  0:01  test/a.test.ts (3 passed, 1.0 s, processor 0.5 s)', '']);
});
