/** Cached data is reloaded for each relevant change, one load at a time, until loading succeeds. */
import t, { type Test } from 'tap';
import { Reloader, type ReloaderDeps } from '../../../src/lib/concurrency/reloader.ts';

/** A Reloader of `_things` whose loads end on request. */
function held(t: Test, parts: Partial<ReloaderDeps> = {}) {
  const readings: PromiseWithResolvers<void>[] = [];
  const begun: PromiseWithResolvers<void>[] = [];
  const errors: unknown[] = [];
  let count = 0;
  let ended = false;
  const at = (list: PromiseWithResolvers<void>[], index: number) => {
    while (list.length <= index) list.push(Promise.withResolvers());
    return list[index] ?? Promise.withResolvers<void>();
  };
  const reloader = new Reloader({
    read: () => {
      const index = count++;
      at(begun, index).resolve();
      if (ended) return Promise.resolve();
      return at(readings, index).promise;
    },
    concerns: (collection) => collection === '_things',
    onError: (error) => errors.push(error),
    ...parts,
  });
  // The timers of a Reloader do not keep a program alive.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(async () => {
    ended = true;
    for (const reading of readings) reading.resolve();
    await reloader.stop();
    clearInterval(alive);
  });
  return {
    reloader,
    errors,
    count: () => count,
    /** Resolves when the load with this index has started. */
    begun: (index: number) => at(begun, index).promise,
    end: (index: number) => at(readings, index).resolve(),
    fail: (index: number, error: Error) => at(readings, index).reject(error),
  };
}

const thing = { collection: '_things' };
const other = { collection: 'todos' };

t.test('reloads for relevant rows, for rows that may be relevant, and when rows were lost', async (t) => {
  for (const rows of [[other, thing], [{ collection: null }], null]) {
    const { reloader, count, end } = held(t);
    reloader.applyLogRows(rows);
    t.equal(count(), 1, JSON.stringify(rows));
    end(0);
  }
  const { reloader, count } = held(t);
  reloader.applyLogRows([other]);
  reloader.applyLogRows([]);
  t.equal(count(), 0, 'not for others');
});

t.test('changes during a load cause one more load', async (t) => {
  const { reloader, count, begun, end } = held(t);
  reloader.applyLogRows([thing]);
  reloader.applyLogRows([thing]);
  reloader.applyLogRows([thing]);
  const done = reloader.reload();
  t.equal(count(), 1, 'one at a time');
  end(0);
  await begun(1);
  end(1);
  await done;
  t.equal(count(), 2);
});

t.test('a failed load is reported and retried', async (t) => {
  const { reloader, errors, begun, end, fail } = held(t);
  fail(0, new Error('unreachable'));
  await reloader.reload();
  t.match(errors, [/unreachable/]);
  await begun(1);
  end(1);
});

t.test('an error that a retry would meet as well waits for the next change', async (t) => {
  const { reloader, errors, count, end, fail } = held(t, { canRetry: () => false });
  fail(0, new Error('invalid'));
  await reloader.reload();
  t.match(errors, [/invalid/]);
  t.equal(count(), 1);
  end(1);
  reloader.applyLogRows([thing]);
  t.equal(count(), 2);
});

t.test('while the log is late the reloader polls, and loads only stale data', async (t) => {
  const always = held(t);
  always.end(0);
  await always.reloader.start(() => false);
  await always.begun(1);
  always.end(1);

  let checked = 0;
  const looking = Promise.withResolvers<void>();
  const isStale = async () => {
    if (++checked === 3) looking.resolve();
    return false;
  };
  const never = held(t, { isStale });
  never.end(0);
  await never.reloader.start(() => false);
  await looking.promise;
  t.equal(never.count(), 1, 'nothing new, nothing read');
});

t.test('a process that receives the log in time does not poll', async (t) => {
  const { reloader, end } = held(t, { isStale: async () => t.fail('looked') });
  end(0);
  const requested = Promise.withResolvers<void>();
  let times = 0;
  await reloader.start(() => {
    if (++times === 2) requested.resolve();
    return true;
  });
  await requested.promise;
});
