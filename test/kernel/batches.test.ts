/** Group commit: idle keys go at once, what arrives meanwhile goes together, each caller gets its own outcome. */
import t from 'tap';
import { Batches } from '../../src/kernel/batches.ts';

/** Batches that wait until they are let go, one by one. */
function held(limits = { count: 3, bytes: 100 }) {
  const seen: { key: string; requests: readonly number[]; go: () => void; fail: (error: Error) => void }[] = [];
  const batches = new Batches<number, string>(
    (key, requests) =>
      new Promise((resolve, reject) => {
        const go = () => resolve(requests.map((n) => (n < 0 ? new Error(`no ${n}`) : `${key}${n}`)));
        seen.push({ key, requests, go, fail: reject });
      }),
    { ...limits, bytesOf: (n) => Math.abs(n) },
  );
  return { batches, seen };
}

t.test('the first call of an idle key goes at once and alone', async (t) => {
  const { batches, seen } = held();
  const first = batches.submit('a', 1);
  t.strictSame(seen[0]?.requests, [1]);
  seen[0]?.go();
  t.equal(await first, 'a1');
});

t.test('calls during a batch make up the next, within the limits', async (t) => {
  const { batches, seen } = held();
  const calls = [1, 2, 3, 4, 5].map((n) => batches.submit('a', n));
  seen[0]?.go();
  await calls[0];
  t.strictSame(seen[1]?.requests, [2, 3, 4]);
  seen[1]?.go();
  await calls[3];
  t.strictSame(seen[2]?.requests, [5]);
  seen[2]?.go();
  t.strictSame(await Promise.all(calls), ['a1', 'a2', 'a3', 'a4', 'a5']);
});

t.test('a batch ends before it grows too large; one too large request goes alone', async (t) => {
  const { batches, seen } = held();
  const calls = [1, 60, 60, 500].map((n) => batches.submit('a', n));
  for (const [index, expected] of [[1], [60], [60], [500]].entries()) {
    t.strictSame(seen[index]?.requests, expected);
    seen[index]?.go();
    await calls[index];
  }
});

t.test('other keys do not wait', async (t) => {
  const { batches, seen } = held();
  void batches.submit('a', 1);
  const other = batches.submit('b', 2);
  seen[1]?.go();
  t.equal(await other, 'b2');
});

t.test('a request may fail alone, or with its whole batch; the key goes on', async (t) => {
  const { batches, seen } = held();
  const first = batches.submit('a', 1);
  const [bad, good] = [batches.submit('a', -2), batches.submit('a', 3)];
  seen[0]?.fail(new Error('all of it'));
  await t.rejects(first, { message: 'all of it' });
  const refused = t.rejects(bad, { message: 'no -2' });
  seen[1]?.go();
  await refused;
  t.equal(await good, 'a3');
  const last = batches.submit('a', 9);
  seen[2]?.go();
  t.equal(await last, 'a9');
});
