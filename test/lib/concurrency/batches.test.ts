/**
 * Group commit: calls with idle keys run at once, calls during a batch run together, each caller gets its own result.
 */
import t from 'tap';
import { RequestCoalescer } from '../../../src/lib/concurrency/coalescer.ts';

interface Run {
  readonly requests: readonly number[];
  go(): void;
  fail(error: Error): void;
}

/** Batches that wait until they are released, one by one. */
function held(limits = { count: 3, bytes: 100 }) {
  const runs: PromiseWithResolvers<Run>[] = [];
  const at = (index: number) => {
    while (runs.length <= index) runs.push(Promise.withResolvers());
    return runs[index] ?? Promise.withResolvers<Run>();
  };
  let count = 0;
  const batches = new RequestCoalescer<number, string>(
    (key, requests) =>
      new Promise((resolve, reject) => {
        const go = () => resolve(requests.map((n) => (n < 0 ? new Error(`no ${n}`) : `${key}${n}`)));
        at(count++).resolve({ requests, go, fail: reject });
      }),
    { ...limits, bytesOf: (n) => Math.abs(n) },
  );
  return { batches, run: (index: number) => at(index).promise, started: () => count };
}

t.test('the first call of an idle key runs at once and alone', async (t) => {
  const { batches, run, started } = held();
  const first = batches.submit('a', 1);
  t.equal(started(), 1);
  t.strictSame((await run(0)).requests, [1]);
  (await run(0)).go();
  t.equal(await first, 'a1');
});

t.test('calls during a batch form the next, within the limits', async (t) => {
  const { batches, run } = held();
  const calls = [1, 2, 3, 4, 5].map((n) => batches.submit('a', n));
  for (const [index, expected] of [[1], [2, 3, 4], [5]].entries()) {
    const { requests, go } = await run(index);
    t.strictSame(requests, expected);
    go();
  }
  t.strictSame(await Promise.all(calls), ['a1', 'a2', 'a3', 'a4', 'a5']);
});

t.test('a batch ends before it grows too large; one too large request goes alone', async (t) => {
  const { batches, run } = held();
  const calls = [1, 60, 60, 500].map((n) => batches.submit('a', n));
  for (const [index, expected] of [[1], [60], [60], [500]].entries()) {
    const { requests, go } = await run(index);
    t.strictSame(requests, expected);
    go();
  }
  await Promise.all(calls);
});

t.test('calls of other keys do not wait', async (t) => {
  const { batches, run } = held();
  void batches.submit('a', 1);
  const other = batches.submit('b', 2);
  (await run(1)).go();
  t.equal(await other, 'b2');
});

t.test('a request may fail alone, or with its whole batch; the key continues', async (t) => {
  const { batches, run } = held();
  const first = batches.submit('a', 1);
  const [bad, good] = [batches.submit('a', -2), batches.submit('a', 3)];
  (await run(0)).fail(new Error('all of it'));
  await t.rejects(first, { message: 'all of it' });
  const refused = t.rejects(bad, { message: 'no -2' });
  (await run(1)).go();
  await refused;
  t.equal(await good, 'a3');
  const last = batches.submit('a', 9);
  (await run(2)).go();
  t.equal(await last, 'a9');
});
