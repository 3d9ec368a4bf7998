/** The rows of jobs: inserted once, leased once, and changed only by the holder of the lease. */
import t from 'tap';
import { connectMongo } from '../../src/database/mongo.ts';
import { DUE_INDEX, JobCollection, type JobRow } from '../../src/queue/job-collection.ts';
import { testMongo } from '../helpers/mongo.ts';

interface Row extends JobRow {
  readonly group?: string;
}

t.test('jobs in the database', async (t) => {
  const mongo = await connectMongo(await testMongo(t));
  t.teardown(() => mongo.close());
  const store = new JobCollection<Row>(mongo.log, 'emails');
  await store.rows.createIndexes([DUE_INDEX]);
  const now = new Date();
  const at = (ms: number) => new Date(now.getTime() + ms);
  const lease = (token: string, ms = 1_000) => store.leaseOne({}, now, { $set: { token, dueAt: at(ms) } });
  const job = (id: string, ms: number, group = 'a'): Row => ({ _id: id, state: 'pending', dueAt: at(ms), group });

  await t.test('a job is inserted once, and stays as it is', async (t) => {
    t.strictSame(await store.insert([job('1', -20), job('2', -10)]), new Set());
    t.strictSame(await store.insert([job('3', 500, 'b'), { ...job('1', 0), state: 'failed' }]), new Set([1]));
    t.match(await store.rows.findOne({ _id: '1' }), { state: 'pending', dueAt: at(-20) });
  });

  await t.test('the first due jobs of each group are found by one command', async (t) => {
    const search = (group: string, limit: number) => ({ filter: { group }, sort: { dueAt: 1 }, limit });
    const found = await store.findEach<Row>([search('a', 1), search('b', 5), search('c', 5)], { dueAt: 1 });
    t.strictSame(
      found.map(({ _id }) => _id),
      ['1', '3'],
    );
  });

  await t.test('workers never lease the same job, and the longest due is the first', async (t) => {
    t.equal((await lease('first'))?._id, '1');
    const both = await Promise.all([lease('second'), lease('third')]);
    t.strictSame(both.map((row) => row?._id ?? null).sort(), ['2', null].sort());
    t.strictSame(await store.nextDue(now), at(500), 'the next due time counts leases that end later');
    t.equal(await store.leaseOne({}, now, { $set: { token: 'x' } }), null);
  });

  await t.test('only the holder of a lease changes its job', async (t) => {
    t.equal(await store.updateLeased({ _id: '1', token: 'other' }, { $set: { state: 'failed' } }), false);
    const taken = await store.leaseOne({ group: 'a' }, at(2_000), { $set: { token: 'successor', dueAt: at(9_000) } });
    t.ok(taken, 'its lease has ended');
    const done = { $set: { state: 'succeeded', token: null }, $unset: { dueAt: '' } };
    const ids = [
      { q: { _id: taken?._id, token: 'first' }, u: done },
      { q: { _id: taken?._id, token: 'successor' }, u: done },
    ];
    t.equal(await store.updateEach(ids), 1);
    t.match(await store.rows.findOne({ _id: taken?._id ?? '' }), { state: 'succeeded', token: null });
  });
});
