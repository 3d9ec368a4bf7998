/** Transactions on registered sessions: conflicts, the limited queue, and what happens to a dead or frozen process. */
import { type Binary, type ClientSession, MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { connectMongo, type Mongo } from '../../src/database/mongo.ts';
import { Transactions } from '../../src/database/transactions.ts';
import { testMongo } from '../helpers/mongo.ts';

interface Counter {
  _id: string;
  n: number;
}

const { url, database } = await testMongo(t);

/** A separate connection for one test, with a counter `a` at 0 and no registration. */
async function connect(t: Test): Promise<Mongo> {
  const mongo = await connectMongo({ url, database });
  t.teardown(() => mongo.close());
  await mongo.data.collection<Counter>('counters').replaceOne({ _id: 'a' }, { n: 0 }, { upsert: true });
  await instances(mongo).deleteMany({});
  return mongo;
}

async function started(t: Test, mongo: Mongo): Promise<Transactions> {
  const transactions = new Transactions(mongo);
  await transactions.start();
  t.teardown(() => transactions.stop());
  return transactions;
}

const increment = (mongo: Mongo) => (session: ClientSession) =>
  mongo.data.collection<Counter>('counters').updateOne({ _id: 'a' }, { $inc: { n: 1 } }, { session });

const counted = async (mongo: Mongo) => (await mongo.data.collection<Counter>('counters').findOne({ _id: 'a' }))?.n;

const instances = (mongo: Mongo) =>
  mongo.log.collection<{ _id: string; sessions: { id: Binary }[]; until: Date }>('instances');

/** Resolves when `fact` is true; the runner's own limit ends an endless wait. */
async function until(fact: () => Promise<boolean>): Promise<void> {
  while (!(await fact())) await new Promise((resolve) => setTimeout(resolve, 20));
}

t.test('concurrent transactions that write one document all succeed', async (t) => {
  const mongo = await connect(t);
  const transactions = await started(t, mongo);
  await Promise.all(Array.from({ length: 6 }, () => transactions.run(increment(mongo))));
  t.equal(await counted(mongo), 6);
});

t.test('a failure rolls back everything and releases its session', async (t) => {
  const mongo = await connect(t);
  const transactions = await started(t, mongo);
  for (let round = 0; round < 20; round++) {
    await t.rejects(
      transactions.run(async (session) => {
        await increment(mongo)(session);
        throw new Error('no');
      }),
      { message: 'no' },
    );
  }
  t.equal(await counted(mongo), 0);
  await transactions.run(increment(mongo));
  t.equal(await counted(mongo), 1);
});

t.test('the queue for a session is limited, and rejects more', async (t) => {
  const mongo = await connect(t);
  const transactions = await started(t, mongo);
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let ran = 0;
  const accepted = Array.from({ length: 8 + 1_000 }, () =>
    transactions.run(async () => {
      await gate;
      ran++;
    }),
  );
  await t.rejects(transactions.run(increment(mongo)), { code: 'overloaded', headers: { 'retry-after': '1' } });
  open();
  await Promise.all(accepted);
  t.equal(ran, 1_008);
  await t.resolves(transactions.run(increment(mongo)), 'there is room again');
});

/** A transaction that locks the counter, of a process that is dead and whose lease ends in `leaseMs`. */
async function deadProcess(t: Test, mongo: Mongo, leaseMs: number): Promise<ClientSession> {
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const session = client.startSession();
  session.startTransaction();
  const counters = client.db(mongo.data.databaseName).collection<Counter>('counters');
  await counters.updateOne({ _id: 'a' }, { $inc: { n: 100 } }, { session });
  const id = session.serverSession.id['id'];
  const row = { sessions: [{ id }], until: new Date(Date.now() + leaseMs) };
  await mongo.log.collection<{ _id: string }>('instances').insertOne({ _id: 'dead', ...row });
  return session;
}

t.test('the next process to start releases what a dead process left open', async (t) => {
  const mongo = await connect(t);
  const session = await deadProcess(t, mongo, -1);
  const transactions = await started(t, mongo);
  t.equal(await instances(mongo).findOne({ _id: 'dead' }), null, 'its registration is deleted');
  await t.rejects(session.commitTransaction(), { code: 251 }, 'its transaction has ended');
  await transactions.run(increment(mongo));
  t.equal(await counted(mongo), 1);
});

t.test('writers that conflict with a process that just died wait until it is cleaned up, and no longer', async (t) => {
  const mongo = await connect(t);
  const transactions = await started(t, mongo);
  await deadProcess(t, mongo, 5_000);
  const begun = performance.now();
  const foreign = mongo.data.collection<Counter>('counters').updateOne({ _id: 'a' }, { $inc: { n: 1 } });
  await Promise.all([...[1, 2, 3, 4, 5].map(() => transactions.run(increment(mongo))), foreign]);
  t.equal(await counted(mongo), 6);
  t.comment(`after ${Math.round(performance.now() - begun)} ms`);
});

t.test('a conflict that persists is contention', async (t) => {
  const mongo = await connect(t);
  const transactions = await started(t, mongo);
  await deadProcess(t, mongo, 60_000);
  await t.rejects(transactions.run(increment(mongo)), { code: 'write-conflict', headers: { 'retry-after': '1' } });
});

t.test('a living process is left alone', async (t) => {
  const mongo = await connect(t);
  const living = await started(t, mongo);
  let inside = () => {};
  const isInside = new Promise<void>((resolve) => {
    inside = resolve;
  });
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const slow = living.run(async (session) => {
    await increment(mongo)(session);
    inside();
    await gate;
  });
  await isInside;
  await started(t, mongo);
  open();
  await slow;
  t.equal(await counted(mongo), 1);
  t.equal(await instances(mongo).countDocuments(), 2);
});

t.test('a process that was frozen registers again when it continues', async (t) => {
  const mongo = await connect(t);
  const frozen = await started(t, mongo);
  const [before] = await instances(mongo).find().toArray();
  t.ok(before);
  // To others a frozen process is one whose lease has expired. Repeated, in case it renews its lease just in between.
  await until(async () => {
    await instances(mongo).updateOne({ _id: before?._id ?? '' }, { $set: { until: new Date(0) } });
    const other = new Transactions(mongo);
    await other.start();
    await other.stop();
    return (await instances(mongo).countDocuments()) === 0;
  });

  await until(async () => (await instances(mongo).countDocuments()) === 1);
  const [after] = await instances(mongo).find().toArray();
  t.strictSame(after?.sessions, before?.sessions);
  await frozen.run(increment(mongo));
  t.equal(await counted(mongo), 1, 'its sessions serve again');
});

t.test('a process that was delayed does not treat itself as dead', async (t) => {
  const mongo = await connect(t);
  await started(t, mongo);
  // Its lease expires right after each renewal, as for a process that is delayed between the two steps.
  for (let renewals = 0; renewals < 3; ) {
    const before = await instances(mongo).findOneAndUpdate({}, { $set: { until: new Date(0) } });
    if (before === null) t.fail('it removed its own registration');
    if (before === null || before.until.getTime() > 0) renewals++;
  }
  t.pass('it stays registered');
});

t.test('a process that ends leaves no registration', async (t) => {
  const mongo = await connect(t);
  const transactions = new Transactions(mongo);
  await transactions.start();
  t.equal(await instances(mongo).countDocuments(), 1);
  await transactions.stop();
  t.equal(await instances(mongo).countDocuments(), 0);
});
