/** Concurrency limits of runs per function. */
import t from 'tap';
import { MAX_CONCURRENT_RUNS, RunSlots } from '../../../src/functions/queue/running/run-slots.ts';

/** Starts runs of a function up to its limit. */
function fill(slots: RunSlots, fn: string): number {
  let begun = 0;
  for (; slots.mayBegin(fn); begun += 1) slots.begin(fn);
  return begun;
}

t.test('A function leaves as many slots as it takes.', async (t) => {
  const slots = new RunSlots();
  t.strictSame(
    ['a', 'b', 'c', 'd', 'e'].map((fn) => fill(slots, fn)),
    [4, 2, 1, 1, 0],
  );
  t.equal(slots.free, 0);
});

t.test('A function whose runs timed out gets one slot, until its runs succeed.', async (t) => {
  const slots = new RunSlots();
  slots.begin('a');
  slots.end('a', 'timeout');
  t.equal(fill(slots, 'a'), 1);
  t.equal(fill(slots, 'b'), 4, 'others do not suffer');
  slots.end('a', 'smooth');
  for (let more = 0; more < 4; more += 1) {
    slots.begin('a');
    slots.end('a', 'smooth');
  }
  for (let ended = 0; ended < 4; ended += 1) slots.end('b', 'smooth');
  t.equal(slots.free, MAX_CONCURRENT_RUNS);
  t.equal(fill(slots, 'a'), 2);
});

t.test('A function whose runs conflict in the database gets fewer slots.', async (t) => {
  const slots = new RunSlots();
  for (const bound of [2, 1, 1]) {
    slots.begin('a');
    slots.end('a', 'conflict');
    t.equal(fill(slots, 'a'), bound);
    for (let ended = 0; ended < bound; ended += 1) slots.end('a', 'other');
  }
});
