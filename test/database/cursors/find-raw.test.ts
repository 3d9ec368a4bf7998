/**
 * Reading in one round trip: a result larger than one reply is complete and leaves no cursor behind, transient errors
 * are retried, and others are thrown at once. On a server with failpoints.
 */
import { BSON, MongoClient } from 'mongodb';
import t from 'tap';
import { findFirstBatch, findRaw, findRawBatches, readFirstBatch } from '../../../src/database/cursors/find-raw.ts';
import { testReplicaSet } from '../../helpers/database/replica-set.ts';

t.test('reading documents as raw BSON', async (t) => {
  const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });
  const client = await new MongoClient(set.url).connect();
  t.teardown(() => client.close());
  const db = client.db('things');
  const find = { filter: {}, batchSize: 101, maxTimeMS: 10_000 };
  const idsOf = (found: readonly Buffer[]) => found.map((raw) => BSON.deserialize(raw)['_id']);
  const openCursors = async () => (await db.command({ serverStatus: 1 }))['metrics'].cursor.open.total;

  await t.test('a page above 16 MB is complete', async (t) => {
    const large = 'x'.repeat(4 * 1024 * 1024);
    const documents = Array.from({ length: 7 }, (_, index) => ({ _id: index, large }));
    for (const document of documents) await db.collection<{ _id: number }>('large').insertOne(document);
    const before = await openCursors();
    const found = await findRaw(db, 'large', { ...find, sort: new Map([['_id', -1]]), limit: 6 });
    t.strictSame(idsOf(found), [6, 5, 4, 3, 2, 1]);
    const firstOnes = [
      await findFirstBatch(db, 'large', { ...find, sort: new Map([['_id', -1]]), limit: 6 }),
      await readFirstBatch(db.collection('large').aggregate([{ $sort: { _id: -1 } }], { raw: true, batchSize: 101 })),
    ];
    for (const { documents, more } of firstOnes) t.strictSame([idsOf(documents), more], [[6, 5, 4], true]);
    t.equal((await findFirstBatch(db, 'large', { ...find, sort: new Map([['_id', -1]]), limit: 2 })).more, false);
    t.equal(await openCursors(), before, 'no cursor stays open');
  });

  await t.test('filter, order, projection, skip and limit apply to raw reads', async (t) => {
    await db
      .collection<{ _id: number }>('small')
      .insertMany([1, 2, 3, 4, 5].map((n) => ({ _id: n, even: n % 2 === 0, n })));
    const found = await findRaw(db, 'small', {
      ...find,
      filter: { even: false },
      sort: new Map([['n', -1]]),
      projection: new Map([['even', 0]]),
      skip: 1,
      limit: 2,
    });
    t.strictSame(
      found.map((raw) => BSON.deserialize(raw)),
      [
        { _id: 3, n: 3 },
        { _id: 1, n: 1 },
      ],
    );
    t.strictSame(await findRaw(db, 'nothing', find), []);
  });

  const batchesOf = async (collection: string, query: object) => {
    const batches: unknown[][] = [];
    for await (const batch of findRawBatches(db, collection, { ...find, ...query })) batches.push(idsOf(batch));
    return batches;
  };

  await t.test('all documents come in batches, in order, and none is empty', async (t) => {
    t.strictSame(await batchesOf('small', { batchSize: 2, sort: new Map([['n', -1]]) }), [[5, 4], [3, 2], [1]]);
    t.strictSame(await batchesOf('small', { batchSize: 5 }), [[1, 2, 3, 4, 5]], 'nor the last one');
    t.strictSame(await batchesOf('small', { batchSize: 2, filter: { even: true } }), [[2, 4]]);
    t.strictSame(await batchesOf('nothing', {}), []);
    const large = await batchesOf('large', { sort: new Map([['_id', -1]]) });
    t.strictSame(large, [[6, 5, 4], [3], [2], [1], [0]], 'the first of which shows the size of the others');
  });

  await t.test('batches have about 1 MB, however large the documents are', async (t) => {
    const filling = 'x'.repeat(8_000);
    await db
      .collection<{ _id: number }>('middling')
      .insertMany(Array.from({ length: 2_000 }, (_, n) => ({ _id: n, filling: n < 600 ? '' : filling })));
    const sizes: number[] = [];
    for await (const batch of findRawBatches(db, 'middling', { ...find, batchSize: 1_000 })) {
      sizes.push(batch.reduce((sum, { length }) => sum + length, 0));
    }
    t.ok(sizes.length > 5, `${sizes.length} batches`);
    // Where documents suddenly become larger, one batch has as many as when they were small.
    t.equal(sizes.filter((bytes) => bytes > 1_048_576).length <= 1, true, String(sizes));
  });

  await t.test('a reader that stops leaves no cursor behind', async (t) => {
    const before = await openCursors();
    const all = findRawBatches(db, 'small', { ...find, batchSize: 2 });
    t.strictSame(idsOf((await all.next()).value ?? []), [1, 2]);
    t.equal(await openCursors(), before + 1);
    await all.return(undefined);
    t.equal(await openCursors(), before);
  });

  const failing = async (data: object, times: number) => {
    const failCommand = { configureFailPoint: 'failCommand', mode: { times }, data };
    await client.db('admin').command(failCommand);
  };

  await t.test('a read is retried after a primary stepped down and after a broken connection', async (t) => {
    const versions: string[] = [];
    client.on('serverDescriptionChanged', ({ newDescription: { topologyVersion: version } }) => {
      versions.push(version === null ? 'none' : String(version.processId?.constructor.name));
    });
    await failing({ errorCode: 10107, failCommands: ['find'] }, 1);
    t.equal((await findRaw(db, 'small', find)).length, 5);
    await failing({ errorCode: 10107, failCommands: ['find'] }, 1);
    t.match(await findFirstBatch(db, 'small', find), { documents: { length: 5 }, more: false });
    t.notOk(versions.includes('undefined'), 'the driver understands what the error says of the topology');
    await failing({ closeConnection: true, failCommands: ['find'] }, 1);
    t.equal((await findRaw(db, 'small', find)).length, 5);
    await failing({ closeConnection: true, failCommands: ['find'] }, 1);
    t.strictSame(await batchesOf('small', { batchSize: 3 }), [
      [1, 2, 3],
      [4, 5],
    ]);
  });

  await t.test('a rejection is thrown at once', async (t) => {
    await failing({ errorCode: 13, failCommands: ['find'] }, 1);
    await t.rejects(findRaw(db, 'small', find), { code: 13 });
    t.equal((await findRaw(db, 'small', find)).length, 5, 'it was called once');
    await failing({ errorCode: 13, failCommands: ['find'] }, 1);
    await t.rejects(batchesOf('small', {}), { code: 13 });
    const before = await openCursors();
    await failing({ errorCode: 13, failCommands: ['getMore'] }, 1);
    await t.rejects(batchesOf('small', { batchSize: 2 }), { code: 13 });
    t.equal(await openCursors(), before, 'the cursor was given back');
  });
});
