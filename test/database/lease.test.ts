/** A lease has one holder, by the server's clock, and expires by itself. */
import { MongoClient } from 'mongodb';
import t from 'tap';
import { Lease, type LeaseOptions } from '../../src/database/lease.ts';
import { testMongo } from '../helpers/mongo.ts';
import { until } from '../helpers/until.ts';

const { url, database } = await testMongo(t);
const client = new MongoClient(url);
t.teardown(() => client.close());
const collection: LeaseOptions['collection'] = client.db(`${database}_log`).collection('lease');

t.test('of ten simultaneous requests one gets the lease', async (t) => {
  const leases = Array.from({ length: 10 }, (_, index) => new Lease({ collection, id: 'race', owner: `p${index}` }));
  const granted = await Promise.all(leases.map((lease) => lease.acquire()));
  t.equal(granted.filter(Boolean).length, 1);
  t.equal(leases.filter((lease) => lease.held()).length, 1);
  const winner = leases[granted.indexOf(true)];
  t.equal((await winner?.state())?.owner, `p${granted.indexOf(true)}`);
  await winner?.release();
  t.equal(await leases[granted.indexOf(true) === 0 ? 1 : 0]?.acquire(), true, 'a released lease is free at once');
  for (const lease of leases) await lease.release();
});

t.test('a lease expires without renewal, and the term grows with every holder', async (t) => {
  const one = new Lease({ collection, id: 'ends', owner: 'one', ttlMs: 1000, renewMs: 100_000 });
  const two = new Lease({ collection, id: 'ends', owner: 'two', ttlMs: 1000, renewMs: 100_000 });
  t.equal(await one.acquire(), true);
  t.equal(await two.acquire(), false);
  await until(() => two.acquire(), 'the second one gets it');
  t.equal(one.held(), false, 'the first one detects it by its own clock');
  t.equal(two.term, one.term + 1);
  await two.release();
});

t.test('a lease is renewed as long as it is held', async (t) => {
  const one = new Lease({ collection, id: 'renewed', owner: 'one', ttlMs: 2000, renewMs: 50 });
  const two = new Lease({ collection, id: 'renewed', owner: 'two', ttlMs: 2000 });
  t.equal(await one.acquire(), true);
  const first = (await one.state())?.until.getTime() ?? 0;
  await until(async () => ((await one.state())?.until.getTime() ?? 0) > first + 3000, 'two lifetimes have passed');
  t.equal(await two.acquire(), false);
  t.equal(one.held(), true);
  t.equal(one.term, 1, 'a renewal is no new term');
  await one.release();
  t.equal(one.held(), false);
});

t.test('a renewal in progress during a release does not acquire the lease again', async (t) => {
  const requested = Promise.withResolvers<void>();
  const mayGo = Promise.withResolvers<void>();
  let isSlow = false;
  const slow: typeof collection = Object.create(collection);
  Object.defineProperty(slow, 'findOneAndUpdate', {
    value: async (...of: [object, object, object]) => {
      const granted = await collection.findOneAndUpdate(...of);
      if (isSlow) requested.resolve();
      if (isSlow) await mayGo.promise;
      return granted;
    },
  });
  const one = new Lease({ collection: slow, id: 'late', owner: 'one', renewMs: 20 });
  const two = new Lease({ collection, id: 'late', owner: 'two' });
  t.equal(await one.acquire(), true);
  isSlow = true;
  await requested.promise;
  const released = one.release();
  t.equal(one.held(), false, 'at once');
  mayGo.resolve();
  await released;
  t.equal(one.held(), false, 'also after the reply');
  t.equal(await two.acquire(), true);
  await two.release();
});

t.test('a holder whose clock has passed the grant does not count itself as holder', async (t) => {
  let now = 0;
  const lease = new Lease({ collection, id: 'clock', owner: 'one', ttlMs: 5000, renewMs: 100_000, now: () => now });
  t.equal(await lease.acquire(), true);
  now = 4999;
  t.equal(lease.held(), true);
  now = 5000;
  t.equal(lease.held(), false);
  await lease.release();
});

t.test('a holder whose name looks like an expression is only a name', async (t) => {
  const lease = new Lease({ collection, id: 'name', owner: '$until' });
  t.equal(await lease.acquire(), true);
  t.equal((await lease.state())?.owner, '$until');
  await lease.release();
});

t.test('a lease is granted again after its collection was dropped, to its holder and to others', async (t) => {
  const options = { collection, id: 'dropped', ttlMs: 500, renewMs: 50 };
  const one = new Lease({ ...options, owner: 'one' });
  const two = new Lease({ ...options, owner: 'two' });
  t.equal(await one.acquire(), true);
  t.equal(await two.acquire(), false);
  await collection.drop();
  await until(() => !one.held(), 'the holder notices');
  await until(() => one.acquire(), 'granted to the one who held it');
  await one.release();
  await collection.drop();
  await until(() => two.acquire(), 'granted to another one');
  await two.release();
});
