/** Stored runs stay below a size limit: the oldest ended ones are deleted first, and only by one process. */
import t from 'tap';
import { connectMongo } from '../../../src/database/mongo.ts';
import { RunRetention } from '../../../src/functions/runs/run-retention.ts';
import { RunRetentionStore } from '../../../src/functions/runs/run-retention-store.ts';
import { runExpiry } from '../../../src/functions/runs/run-row.ts';
import { RunStore } from '../../../src/functions/runs/run-store.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { testMongo } from '../../helpers/mongo.ts';

const { url, database } = await testMongo(t);
const mongo = await connectMongo({ url, database });
t.teardown(() => mongo.close());

t.test('The oldest runs are deleted first, and pending ones are kept.', async (t) => {
  const store = new RunStore(mongo);
  const sizes = new RunRetentionStore(mongo);
  t.equal(await sizes.deleteOldest(10), 0);
  await store.prepare();
  const input = 'x'.repeat(10_000);
  const expireAt = runExpiry(new Date());
  const rows = Array.from({ length: 3_000 }, (_, n) =>
    runRow(n, { input, ...(n < 5 ? { state: 'pending' } : { expireAt }) }),
  );
  for (let at = 0; at < rows.length; at += 1_000) await store.insert(rows.slice(at, at + 1_000));
  const { runs, bytes } = await sizes.size();
  t.equal(runs, 3_000);
  t.ok(bytes > 3_000 * 10_000);

  const failed: unknown[] = [];
  const parts = { store: sizes, onError: (error: unknown) => failed.push(error), maxBytes: 15_000_000 };
  const retention = new RunRetention({ ...parts, allowed: () => true });
  retention.start();
  await retention.deleteExcess();
  const after = await sizes.size();
  t.ok(after.bytes <= 15_000_000 && after.bytes >= 12_000_000, `${after.bytes}`);
  const { runs: newest } = await store.list({ limit: 1 });
  t.equal(newest[0]?.id, 'run_2999');
  t.strictSame(
    (await store.findAll(['run_0001', 'run_0006'])).map(({ _id }) => _id),
    ['run_0001'],
  );
  await retention.deleteExcess();
  t.equal((await sizes.size()).runs, after.runs, 'then there is room');
  await retention.stop();
  t.strictSame(failed, []);
});

t.test('The size limit holds while every process writes runs.', async (t) => {
  const store = new RunStore(mongo);
  const sizes = new RunRetentionStore(mongo);
  await sizes.deleteOldest(10_000);
  const failed: unknown[] = [];
  const parts = { store: sizes, onError: (error: unknown) => failed.push(error), maxBytes: 2_000_000 };
  const retention = new RunRetention({ ...parts, allowed: () => false, everyBytes: 500_000 });
  const expireAt = runExpiry(new Date());
  // Small ones first: the oldest are smaller than the average.
  for (let n = 10_000; n < 10_500; n += 1) await store.insert([runRow(n, { expireAt })]);
  for (let batch = 0; batch < 40; batch += 1) {
    const rows = Array.from({ length: 10 }, (_, n) =>
      runRow(20_000 + batch * 10 + n, { input: 'x'.repeat(20_000), expireAt }),
    );
    await store.insert(rows);
    await retention.wrote(200_000);
    const { bytes } = await sizes.size();
    t.ok(bytes <= 2_700_000, `${bytes} after batch ${batch}`);
  }
  t.equal((await store.list({ limit: 1 })).runs[0]?.id, 'run_20399', 'the newest stay');
  await retention.stop();
  t.strictSame(failed, []);
});
