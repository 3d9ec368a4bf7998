/** Those who come back from far behind read the log a few at a time: the database's connections are there for all. */
import t from 'tap';
import { Backlog } from '../../../src/realtime/subscription/backlog.ts';
import { until } from '../../helpers/until.ts';

t.test('of many who come back from far behind a few read the log at one time', async (t) => {
  let reading = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const about = async ({ through }: { through: number }) => {
    reading += 1;
    most = Math.max(most, reading);
    await new Promise<void>((resolve) => ends.push(resolve));
    reading -= 1;
    return { rows: [], through };
  };
  const hub = { read: async () => t.fail('that is too far for memory') as never };
  const backlog = new Backlog({ hub, log: { about }, completed: async (row) => row });
  const comeBack = async () => {
    for await (const { through } of backlog.read(0, 1_000_000, ['todos'])) t.equal(through, 1_000_000);
  };
  const all = Promise.all(Array.from({ length: 20 }, comeBack));
  for (let n = 0; n < 20; n++) {
    await until(() => ends.length > 0, 'somebody reads');
    ends.shift()?.();
  }
  await all;
  t.equal(most, 3);
});
