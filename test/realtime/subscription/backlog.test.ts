/**
 * Subscriptions that resume from far behind read the log a few at a time, and no client more than its share, so that
 * database connections stay available.
 */
import t from 'tap';
import { FairSemaphore } from '../../../src/lib/concurrency/fair-semaphore.ts';
import { Backlog } from '../../../src/realtime/subscription/missed-rows-reader.ts';
import { until } from '../../helpers/until.ts';

const NEWEST = { epoch: 1, number: 1_000_000, time: null };
const FAR = { after: 0, through: 1_000_000, collections: ['todos'] };

t.test('of many clients that resume from far behind a few read the log at one time', async (t) => {
  let reading = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const about = async ({ through }: { through: number }) => {
    reading += 1;
    most = Math.max(most, reading);
    await new Promise<void>((resolve) => ends.push(resolve));
    return { rows: [], through };
  };
  const hub = {
    hasInMemory: () => false,
    read: async () => t.fail('that is too far for memory') as never,
    newest: NEWEST,
  };
  const backlog = new Backlog({ hub, log: { about }, completed: async (row) => row, readers: new FairSemaphore(4, 2) });
  const done: string[] = [];
  const comeBack = (whose: string) =>
    backlog.read({ ...FAR, whose }, async ({ through }) => {
      t.equal(through, FAR.through);
      // Rows are held until they have been processed.
      await new Promise((resolve) => setImmediate(resolve));
      reading -= 1;
      done.push(whose);
    });
  const all = Promise.all([...Array.from({ length: 20 }, () => 'many'), 'one', 'other', 'third'].map(comeBack));
  for (let n = 0; n < 23; n++) {
    await until(() => ends.length > 0, 'a read has started');
    ends.shift()?.();
  }
  await all;
  t.equal(most, 4);
  for (const whose of ['one', 'other', 'third']) {
    t.ok(done.indexOf(whose) < 6, `${whose} does not wait for the many of another client`);
  }
});

t.test('rows that arrive during the wait for the semaphore are read, too', async (t) => {
  const requested: number[] = [];
  const about = async ({ through }: { through: number }) => {
    requested.push(through);
    return { rows: [], through };
  };
  const hub = { hasInMemory: () => false, read: async () => [], newest: NEWEST };
  const readers = new FairSemaphore(1, 1);
  const backlog = new Backlog({ hub, log: { about }, completed: async (row) => row, readers });
  let leave = () => {};
  const before = readers.run('a', () => new Promise<void>((resolve) => (leave = resolve)));
  const read = backlog.read({ ...FAR, through: null, whose: 'b' }, ({ through }) => through);
  hub.newest = { ...NEWEST, number: 2_000_000 };
  leave();
  t.equal(await read, 2_000_000);
  t.strictSame(requested, [2_000_000]);
  await before;
});
