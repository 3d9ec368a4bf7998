/**
 * The counter of quotas on rows of the event log: each counts once, and where the log is not sufficient, everything is
 * recounted.
 */
import { BSON, type Document, Timestamp } from 'mongodb';
import t, { type Test } from 'tap';
import { connectMongo } from '../../src/database/mongo.ts';
import { ensureSystemCollection } from '../../src/database/system-collection.ts';
import { QuotaCounter, type QuotaLogRow } from '../../src/quotas/quota-counter.ts';
import { QuotaStore } from '../../src/quotas/quota-store.ts';
import { testMongo } from '../helpers/mongo.ts';

const DAY_MS = 24 * 3_600_000;
/** After any time of the full count. */
const LATER = new Timestamp({ t: 4_000_000_000, i: 1 });

const bytes = (document: Document) => Buffer.from(BSON.serialize(document));
const created = (creator: string) => bytes({ _id: 1, _meta: { createdBy: creator } });

function row(number: number, changes: Partial<QuotaLogRow>): QuotaLogRow {
  const empty = { operation: 'insert', collection: 'notes', before: null, after: null, request: null };
  return { epoch: 1, number, time: LATER, ...empty, ...changes };
}

/** A counter that begins after row 10, in a database with two documents and a file of u1. */
async function openCounter(t: Test, now?: () => number) {
  const { url, database } = await testMongo(t);
  const mongo = await connectMongo({ url, database });
  t.teardown(() => mongo.close());
  await ensureSystemCollection(mongo, '_files');
  await mongo.data.collection('notes').insertMany([{ _meta: { createdBy: 'u1' } }, { _meta: { createdBy: 'u1' } }]);
  await mongo.data.collection('notes').insertMany([{ by: 'nobody of ours' }, { _meta: { createdBy: null } }]);
  await mongo.data.collection('_files').insertOne({ size: 7, _meta: { createdBy: 'u1' } });
  await mongo.data.createCollection('capped', { capped: true, size: 4096 });
  const store = new QuotaStore(mongo);
  const counter = new QuotaCounter(store, now);
  await counter.begin({ epoch: 1, number: 10 });
  const count = (...rows: QuotaLogRow[]) => counter.count(rows, () => true);
  return { mongo, store, counter, count, amounts: async (creator: string) => (await store.read(creator))?.amounts };
}

t.test('quotas count everything once at the beginning', async (t) => {
  const { amounts, store } = await openCounter(t);
  t.strictSame(await amounts('u1'), { documents: 2, files: 1, bytes: 7 });
  t.strictSame(await amounts('u2'), { documents: 0, files: 0, bytes: 0 });
  t.match(await store.state(), { epoch: 1, number: 10 });
});

t.test('rows of the log add to, subtract from and move quota counts', async (t) => {
  const { amounts, count } = await openCounter(t);
  const file = bytes({ size: 7, _meta: { createdBy: 'u1' } });
  await count(
    row(11, { after: created('u1') }),
    row(12, { after: created('u2') }),
    row(13, { operation: 'delete', collection: '_files', before: file }),
    row(14, { operation: 'replace', before: created('u1'), after: created('u2') }),
    row(15, { operation: 'update', before: created('u1'), after: created('u1') }),
    row(16, { collection: '_sessions', after: created('u1') }),
    row(17, { collection: 'tmp.agg', after: created('u1') }),
    row(18, { operation: 'drop', collection: 'tmp.agg' }),
  );
  t.strictSame(await amounts('u1'), { documents: 2, files: 0, bytes: 0 });
  t.strictSame(await amounts('u2'), { documents: 2, files: 0, bytes: 0 });
});

t.test('a row counts once, also when the process that counted it ended before it stored its position', async (t) => {
  const { mongo, amounts, count, store } = await openCounter(t);
  const rows = [row(11, { after: created('u1') }), row(12, { after: created('u2') })];
  await count(...rows);
  await store.advancePosition({ epoch: 1, number: 10 });
  const next = new QuotaCounter(new QuotaStore(mongo));
  await next.begin({ epoch: 1, number: 10 });
  await next.count([...rows, row(13, { after: created('u1') })], () => true);
  t.equal((await amounts('u1'))?.documents, 4);
  t.equal((await amounts('u2'))?.documents, 1);
});

t.test('rows from before the full count are already in it', async (t) => {
  const { amounts, count } = await openCounter(t);
  await count(row(11, { after: created('u1'), time: new Timestamp({ t: 1, i: 1 }) }));
  t.equal((await amounts('u1'))?.documents, 2);
});

t.test('a process that is no longer the counter leaves the counts alone', async (t) => {
  const { amounts, counter } = await openCounter(t);
  await counter.count([row(11, { after: created('u1') })], () => false);
  t.equal((await amounts('u1'))?.documents, 2);
});

for (const [name, rows] of [
  ['a row is missing', [row(12, {})]],
  ['another history begins', [row(11, { epoch: 2 })]],
  ['the log has a gap', [row(11, { operation: 'gap' })]],
  ['a collection went away', [row(11, { operation: 'drop' })]],
  ['a collection took the place of another', [row(11, { operation: 'rename' })]],
] as const) {
  t.test(`quotas are recounted where ${name}`, async (t) => {
    const { mongo, amounts, count } = await openCounter(t);
    await mongo.data.collection('notes').insertOne({ _meta: { createdBy: 'u2' } });
    await mongo.data.collection('notes').deleteMany({ '_meta.createdBy': 'u1' });
    await count(...rows);
    t.strictSame(await amounts('u1'), { documents: 0, files: 1, bytes: 7 });
    t.equal((await amounts('u2'))?.documents, 1);
  });
}

t.test('quotas are recounted once a day', async (t) => {
  let now = Date.now();
  const { mongo, amounts, count } = await openCounter(t, () => now);
  await mongo.data.collection('notes').deleteMany({ '_meta.createdBy': 'u1' });
  await count(row(11, {}));
  t.equal((await amounts('u1'))?.documents, 2);
  now += DAY_MS + 60_000;
  await count(row(12, {}));
  t.equal((await amounts('u1'))?.documents, 0);
});
