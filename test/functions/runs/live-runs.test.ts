/** Those who watch are told of runs of this process at once, of others by the database, of each once. */
import t from 'tap';
import { openMongo } from '../../../src/database/mongo.ts';
import { openRuns } from '../../../src/functions/runs/open-runs.ts';
import { toRun } from '../../../src/functions/runs/run-row.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const { url, database } = await testMongo(t);
const mongo = await openMongo({ url, database });
t.teardown(() => mongo.close());

const line = { at: new Date(), level: 'info', text: 'hello' } as const;

t.test('each run and each line is told once, wherever it happened', async (t) => {
  const { live, store, close } = openRuns({ mongo, records: () => false, onError: (error) => t.fail(String(error)) });
  const told: string[] = [];
  const watcher = {
    onRun: ({ id, state }: { id: string; state: string }) => void told.push(`${id} ${state}`),
    onLine: ({ id }: { id: string }, { text }: { text: string }) => void told.push(`${id}: ${text}`),
  };
  live.run(toRun(runRow(1)));
  const end = live.watch(watcher);
  const second = live.watch({ ...watcher });
  second();
  t.equal(live.watchers, 1);

  // The stream begins a moment after the watching: something is stored until it comes back.
  let probe = 100;
  await until(async () => {
    await store.insert([runRow(probe++, { logs: [line] })]);
    return told.length > 0;
  }, 'a run of another process is told');
  const [first = ''] = told;
  t.match(first, /^run_01\d\d: hello$/, 'its lines come first');
  t.equal(told[1], first.replace(': hello', ' ok'));

  await until(() => told.includes(`run_${String(probe - 1).padStart(4, '0')} ok`), 'all are told');
  told.length = 0;
  const own = runRow(2, { logs: [line] });
  live.line(toRun(own), line);
  live.run(toRun(own));
  t.strictSame(told, ['run_0002: hello', 'run_0002 ok'], 'at once');
  await store.insert([own]);
  // Its end may come back before it was told here.
  const late = runRow(3, { logs: [line] });
  live.line(toRun(late), line);
  await store.insert([late]);
  await until(() => told.includes('run_0003 ok'), 'the next is told');
  live.run(toRun(late));
  t.strictSame(told, ['run_0002: hello', 'run_0002 ok', 'run_0003: hello', 'run_0003 ok'], 'each once');

  await mongo.log
    .collection<{ _id: string; state: string }>('runs')
    .updateOne({ _id: 'run_0003' }, { $set: { state: 'failed' } });
  await until(() => told.includes('run_0003 failed'), 'a change of state is told');
  end();
  end();
  t.notOk(live.isWatched);
  await store.insert([runRow(4)]);
  live.run(toRun(runRow(5)));
  t.equal(told.length, 5, 'nobody is told any more');
  await close();
});
