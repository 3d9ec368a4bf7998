/** Runs in the database: pages and filters of lists, and no collections before they are needed. */
import t from 'tap';
import { connectMongo } from '../../../src/database/mongo.ts';
import { RunStore } from '../../../src/functions/runs/run-store.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { testMongo } from '../../helpers/mongo.ts';

const { url, database } = await testMongo(t, { isNew: true });
const mongo = await connectMongo({ url, database });
t.teardown(() => mongo.close());

const ids = (page: { readonly runs: readonly { readonly id: string }[] }) =>
  page.runs.map(({ id }) => Number(id.slice(4)));

t.test('Nothing is created until a plugin needs it.', async (t) => {
  const store = new RunStore(mongo);
  t.strictSame(await store.list({ limit: 10 }), { runs: [], next: null });
  t.equal(await store.find('run_1'), null);
  t.strictSame(await mongo.log.listCollections({ name: 'runs' }).toArray(), []);
  await Promise.all([store.prepare(), store.prepare()]);
  t.ok((await mongo.log.collection('runs').indexes()).some(({ expireAfterSeconds }) => expireAfterSeconds === 0));
});

t.test('A run is inserted once, and found with all fields.', async (t) => {
  const store = new RunStore(mongo);
  await store.insert([]);
  await store.insert([runRow(1), runRow(2)]);
  await store.insert([runRow(2, { state: 'failed' }), runRow(3)]);
  t.strictSame(await store.find('run_0002'), runRow(2));
  t.strictSame(ids(await store.list({ limit: 10 })), [3, 2, 1]);
  t.notOk('input' in ((await store.list({ limit: 1 })).runs[0] ?? {}), 'lists have no details');
});

t.test('Pages continue where the previous one ended, also among runs of one moment.', async (t) => {
  const store = new RunStore(mongo);
  const createdAt = new Date(Date.UTC(2025, 0, 1));
  await store.insert([11, 12, 13, 14].map((n) => runRow(n, { createdAt, plugin: 'paged' })));
  const seen: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ plugin: 'paged', limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...ids(page));
    if (page.next === null) break;
    cursor = page.next;
  }
  t.strictSame(seen, [14, 13, 12, 11]);
  const tooLate = Buffer.from('[9007199254740991,"x"]').toString('base64url');
  for (const cursor of ['x', 'W10', '', tooLate]) {
    await t.rejects(store.list({ limit: 1, cursor }), { code: 'cursor-mismatch' }, cursor);
  }
});

t.test('Lists are filtered by plugin, function, state and event.', async (t) => {
  const store = new RunStore(mongo);
  const plugin = 'chosen';
  await store.insert([
    runRow(21, { plugin, function: 'a', event: '1-7' }),
    runRow(22, {
      plugin,
      function: 'b',
      state: 'failed',
      error: { code: 'function-failed', message: 'x', stack: null },
    }),
    runRow(23, { plugin, function: 'b', event: '1-7' }),
  ]);
  t.strictSame(ids(await store.list({ plugin, limit: 9 })), [23, 22, 21]);
  t.strictSame(ids(await store.list({ plugin, function: 'b', limit: 9 })), [23, 22]);
  t.strictSame(ids(await store.list({ state: 'failed', limit: 9 })), [22]);
  t.strictSame(ids(await store.list({ event: '1-7', limit: 9 })), [23, 21]);
  t.strictSame(ids(await store.list({ event: '1-7', function: 'a', limit: 9 })), [21]);
});
