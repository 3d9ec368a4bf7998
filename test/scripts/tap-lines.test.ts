/** What a person sees of tap's stream: little when all is well, everything about what failed. */
import t from 'tap';
import { TapLines } from '../../scripts/tap-lines.ts';

const STREAM = `TAP version 14
# Subtest: test/good.test.ts
    # Subtest: one
        ok 1 - equal
        # a comment nobody needs
        1..1
    ok 1 - one # time=3ms

    ok 2 - two # SKIP later
    1..2
    # time=9ms
ok 1 - test/good.test.ts # time=9ms

# Subtest: test/bad.test.ts
    # Subtest: fine
        ok 1 - equal
        # seed 7
        1..1
    ok 1 - fine # time=3ms

    # Subtest: broken
        # seed 8
        ok 1 - equal
        not ok 2 - should be equal
          ---
          diff: |
            -2
            +1
          ...
        1..2
    not ok 2 - broken # time=3ms
    1..2
    # time=9ms
not ok 2 - test/bad.test.ts # time=9ms
  ---
  cwd: /somewhere
  exitCode: 1
  signal: null
  ...

1..2
# { total: 5, pass: 3, fail: 1, todo: 1, skip: 2 }
# time=30ms
`;

function feed(stream: string): { shown: string[]; lines: TapLines } {
  const lines = new TapLines();
  return { shown: stream.split('\n').flatMap((line) => lines.feed(line)), lines };
}

t.test('a good file is one line and what it skips, a bad one tells its failures', async (t) => {
  t.strictSame(feed(STREAM).shown, [
    '    ok 2 - two # SKIP later',
    '✓ test/good.test.ts (1 passed, 9ms)',
    '# Subtest: test/bad.test.ts',
    '    # Subtest: broken',
    '        # seed 8',
    '        not ok 2 - should be equal',
    '          ---',
    '          diff: |',
    '            -2',
    '            +1',
    '          ...',
    '    not ok 2 - broken # time=3ms',
    '✗ test/bad.test.ts (2 passed, 9ms)',
    '  exitCode: 1',
  ]);
});

t.test('the totals are those of the runner', async (t) => {
  const { lines } = feed(STREAM);
  t.strictSame(lines.totals, { pass: 3, fail: 1, skip: 3 });
  t.strictSame(lines.rest(), []);
});

t.test('a stream that breaks off has no totals, and what it began is shown', async (t) => {
  const { lines } = feed(STREAM.slice(0, STREAM.indexOf('    not ok 2 - broken')));
  t.equal(lines.totals, null);
  t.match(lines.rest(), ['    # Subtest: broken', '        # seed 8', '        not ok 2 - should be equal']);
});
