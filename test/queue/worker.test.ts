/** The loop of a worker: when it looks, what it fetches, how it stops. The rows are a list in memory. */
import t, { type Test } from 'tap';
import { Worker, type WorkerOptions } from '../../src/queue/worker.ts';
import { until } from '../helpers/until.ts';

interface Job {
  readonly group: string;
  readonly name: string;
  readonly dueAt: number;
}

/** A worker that runs two jobs of a group at a time; a job ends when the test says so. */
function scene(t: Test, more: Partial<WorkerOptions<Job>> = {}) {
  const stored: Job[] = [];
  const fetched: Job[] = [];
  const running = new Map<string, PromiseWithResolvers<void>>();
  const counts = { looks: 0, fetches: 0 };
  const errors: unknown[] = [];
  const held = (group: string) =>
    [...running.keys(), ...fetched.map(({ name }) => name)].filter((name) => name.startsWith(group)).length;
  const isDue = ({ dueAt }: Job) => dueAt <= Date.now();
  const worker = new Worker<Job>({
    now: () => Date.now(),
    findGroups: async () => {
      counts.looks += 1;
      const next = stored.filter((job) => !isDue(job)).map(({ dueAt }) => dueAt);
      const due = new Set(stored.filter(isDue).map(({ group }) => group));
      return { due, next: next.length === 0 ? null : new Date(Math.min(...next)) };
    },
    room: (group) => 2 - held(group),
    findJobs: async (requests) => {
      counts.fetches += 1;
      return new Map(
        requests.map(({ group, count }) => {
          const found = stored.filter((job) => job.group === group && isDue(job)).slice(0, count);
          for (const job of found) stored.splice(stored.indexOf(job), 1);
          fetched.push(...found);
          return [group, found.length];
        }),
      );
    },
    next: () => fetched.shift(),
    handle: async ({ name }) => {
      const end = Promise.withResolvers<void>();
      running.set(name, end);
      await end.promise.finally(() => running.delete(name));
    },
    onError: (error) => errors.push(error),
    ...more,
  });
  t.teardown(async () => {
    for (const { resolve } of running.values()) resolve();
    await worker.stop(1_000);
  });
  const add = (name: string, dueAt = 0) => stored.push({ group: name.slice(0, 1), name, dueAt });
  return { worker, stored, fetched, running, counts, errors, add };
}

t.test('due jobs of every group start, as many as it has room for, and the next when one ends', async (t) => {
  const { worker, running, counts, add } = scene(t);
  for (const name of ['a1', 'a2', 'a3', 'b1']) add(name);
  worker.start();
  await worker.polled();
  t.strictSame([...running.keys()], ['a1', 'a2', 'b1']);
  running.get('a1')?.resolve();
  await until(() => running.has('a3'), 'the third one starts');
  const before = { ...counts };
  for (const { resolve } of running.values()) resolve();
  await worker.idle();
  t.equal(counts.looks, before.looks, 'nothing is looked for without a reason');
});

t.test('a group that becomes due during a fetch is fetched again', async (t) => {
  const fetches: string[] = [];
  const { worker } = scene(t, {
    findGroups: async () => ({ due: ['a'], next: null }),
    // It reads an older state: without the job that is announced meanwhile.
    findJobs: async (requests) => {
      fetches.push(...requests.map(({ group }) => group));
      if (fetches.length === 1) worker.wakeGroup('a');
      return new Map(requests.map(({ group }) => [group, 0]));
    },
  });
  worker.start();
  await worker.polled();
  t.strictSame(fetches, ['a', 'a']);
});

t.test('a job starts at its time, also if it was announced later', async (t) => {
  const { worker, running, add } = scene(t);
  add('a1', Date.now() + 30);
  worker.start();
  await worker.polled();
  t.equal(running.size, 0);
  await until(() => running.has('a1'), 'its time has come');
  add('b1', Date.now() + 30);
  worker.wakeAt(Date.now() + 30);
  await until(() => running.has('b1'), 'its time has come, too');
});

t.test('an error of the database is reported once, and the query is repeated', async (t) => {
  let failures = 3;
  const { worker, running, errors, add } = scene(t, {
    findGroups: async () => {
      failures -= 1;
      if (failures >= 0) throw new Error('away');
      return { due: ['a'], next: null };
    },
  });
  add('a1');
  worker.start();
  await worker.polled();
  t.equal(running.size, 0);
  await until(() => running.has('a1'), 'it starts when the database is back');
  t.equal(errors.length, 1);
});

t.test('the query is repeated even if the pause ends while the timer is set', async (t) => {
  const clock = performance.now;
  t.teardown(() => {
    performance.now = clock;
  });
  // The first pause has 75 to 100 ms: it lasts at one reading, and is over at the next one.
  let readings = 0;
  performance.now = () => {
    readings += 1;
    return readings * 60;
  };
  let failures = 1;
  const { worker, running, add } = scene(t, {
    findGroups: async () => {
      failures -= 1;
      if (failures >= 0) throw new Error('away');
      return { due: ['a'], next: null };
    },
  });
  add('a1');
  worker.start();
  await until(() => running.has('a1'), 'it starts when the database is back');
  t.pass();
});

t.test('a job that cannot be handled is reported, and looked for again', async (t) => {
  const { worker, errors, counts, add } = scene(t, {
    handle: async () => {
      throw new Error('not handled');
    },
  });
  add('a1');
  worker.start();
  await until(() => errors.length === 1, 'it is reported');
  await until(() => counts.looks === 2, 'there is a second look');
  t.pass();
});

t.test('a worker that stops starts nothing, returns what it has fetched, and waits for what is running', async (t) => {
  const released: string[] = [];
  const { worker, running, fetched, add } = scene(t, {
    next: () => (running.size === 0 ? fetched.shift() : undefined),
    release: async () => void released.push(...fetched.splice(0).map(({ name }) => name)),
  });
  for (const name of ['a1', 'a2', 'a3']) add(name);
  worker.start();
  await worker.polled();
  t.strictSame([...running.keys()], ['a1']);
  t.equal(await worker.stop(10), false, 'one is still running after the grace period');
  t.strictSame(released, ['a2']);
  running.get('a1')?.resolve();
  await worker.idle();
  add('b1');
  worker.wake();
  t.equal(await worker.stop(10), true);
  t.strictSame(fetched, []);
});
