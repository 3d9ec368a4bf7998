/** What a person sees of what a test file writes: little when all is well, everything about what failed. */
import t from 'tap';
import { TapLines } from '../../scripts/tap-lines.ts';

const GOOD = `TAP version 14
# seed 7
# Subtest: one
    # Subtest: inner
        ok 1 - later # SKIP no network
        1..1
    ok 1 - inner # time=2ms
    ok 2 - equal
    1..2
ok 1 - one # time=3ms

ok 2 - two # SKIP later
1..2
# { total: 4, pass: 2, skip: 2 }
# time=9ms
`;

const BAD = `TAP version 14
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
# { total: 5, pass: 2, fail: 1, todo: 1, skip: 1 }
# time=9ms
`;

function fed(stream: string): TapLines {
  const lines = new TapLines();
  for (const line of stream.split('\n')) lines.feed(line);
  return lines;
}

t.test('the processor time of each file is kept apart', async (t) => {
  const { files } = fed('# processor 1.5 s: test/a.test.ts\n');
  t.strictSame(files, [{ file: 'test/a.test.ts', cpuSeconds: 1.5 }]);
});

t.test('of a good file it is notified what it skips, wherever that stands', async (t) => {
  t.strictSame(fed(GOOD).skipped(), ['        ok 1 - later # SKIP no network', 'ok 2 - two # SKIP later']);
});

t.test('a bad file tells its failures, and nothing of what passed', async (t) => {
  t.strictSame(fed(BAD).failures(), [
    '# Subtest: broken',
    '    # seed 8',
    '    not ok 2 - should be equal',
    '      ---',
    '      diff: |',
    '        -2',
    '        +1',
    '      ...',
    'not ok 2 - broken # time=3ms',
  ]);
});

t.test('the totals are those of the file', async (t) => {
  t.strictSame(fed(GOOD).totals, { pass: 2, fail: 0, skip: 2 });
  t.strictSame(fed(BAD).totals, { pass: 2, fail: 1, skip: 2 });
});

t.test('a stream that breaks off has no totals, and what it began is notified', async (t) => {
  const lines = fed(BAD.slice(0, BAD.indexOf('not ok 2 - broken')));
  t.equal(lines.totals, null);
  t.match(lines.failures(), ['# Subtest: broken', '    # seed 8', '    not ok 2 - should be equal']);
});
