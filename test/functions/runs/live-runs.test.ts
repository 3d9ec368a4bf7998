/** Watchers receive runs of this process immediately and others from the database, each once. */
import t from 'tap';
import { connectMongo } from '../../../src/database/mongo.ts';
import { toRun } from '../../../src/functions/runs/run-row.ts';
import { createRunServices } from '../../../src/functions/runs/services.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const { url, database } = await testMongo(t);
const mongo = await connectMongo({ url, database });
t.teardown(() => mongo.close());

const line = { at: new Date(), level: 'info', text: 'hello' } as const;

t.test('Each run and each line is reported once, from any process.', async (t) => {
  const cleanup = new AsyncDisposableStack();
  const onError = (error: unknown) => void t.fail(String(error));
  const { live, store } = createRunServices({ mongo, records: () => false, onError, cleanup });
  const reported: string[] = [];
  const watcher = {
    onRun: ({ id, state }: { id: string; state: string }) => void reported.push(`${id} ${state}`),
    onLine: ({ id }: { id: string }, { text }: { text: string }) => void reported.push(`${id}: ${text}`),
  };
  live.run(toRun(runRow(1)));
  const end = live.watch(watcher);
  const second = live.watch({ ...watcher });
  second();
  t.equal(live.watchers, 1);

  // The stream starts slightly after the watch: runs are stored until one comes back.
  let probe = 100;
  await until(async () => {
    await store.insert([runRow(probe++, { logs: [line] })]);
    return reported.length > 0;
  }, 'a run of another process is reported');
  const [first = ''] = reported;
  t.match(first, /^run_01\d\d: hello$/, 'its lines come first');
  t.equal(reported[1], first.replace(': hello', ' succeeded'));

  await until(() => reported.includes(`run_${String(probe - 1).padStart(4, '0')} succeeded`), 'all are reported');
  reported.length = 0;
  const own = runRow(2, { logs: [line] });
  live.line(toRun(own), line);
  live.run(toRun(own));
  t.strictSame(reported, ['run_0002: hello', 'run_0002 succeeded'], 'at once');
  await store.insert([own]);
  // Its end may come back before it was reported here.
  const late = runRow(3, { logs: [line] });
  live.line(toRun(late), line);
  await store.insert([late]);
  await until(() => reported.includes('run_0003 succeeded'), 'the next is reported');
  live.run(toRun(late));
  t.strictSame(
    reported,
    ['run_0002: hello', 'run_0002 succeeded', 'run_0003: hello', 'run_0003 succeeded'],
    'each once',
  );

  await mongo.log
    .collection<{ _id: string; state: string }>('runs')
    .updateOne({ _id: 'run_0003' }, { $set: { state: 'failed' } });
  await until(() => reported.includes('run_0003 failed'), 'a change of state is reported');
  end();
  end();
  t.notOk(live.isWatched);
  await store.insert([runRow(4)]);
  live.run(toRun(runRow(5)));
  t.equal(reported.length, 5, 'nothing is reported any more');
  await cleanup.disposeAsync();
});
