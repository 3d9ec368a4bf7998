/** Orphan cleanup and the upload journal: which entries it processes, and that a commit and a cleanup exclude each other. */
import { createSecretKey } from 'node:crypto';
import { Readable } from 'node:stream';
import t from 'tap';
import { ANONYMOUS } from '../../src/auth/identity/principal.ts';
import { connectMongo } from '../../src/database/mongo.ts';
import { Transactions } from '../../src/database/transactions.ts';
import { createFileServices } from '../../src/files/services.ts';
import type { MultipartPart } from '../../src/files/upload/multipart-upload.ts';
import { Policies } from '../../src/policies/policies.ts';
import { testCleanup } from '../helpers/cleanup.ts';
import { countAll } from '../helpers/files/upload.ts';
import { testMongo } from '../helpers/mongo.ts';
import { newKey } from '../suites/file-store.ts';

const testDatabase = await testMongo(t);
const mongo = await connectMongo(testDatabase);
const transactions = new Transactions(mongo);
await transactions.start();
t.teardown(async () => {
  await transactions.stop();
  await mongo.close();
});
const marks = mongo.log.collection('uploads');
const may = <A extends 'create' | 'delete'>(action: A) =>
  new Policies('development').scope(ANONYMOUS, action, '_files');
const NEVER = new AbortController().signal;

/** As a process would open them; two of these simulate two processes. */
async function open() {
  const key = createSecretKey(Buffer.alloc(32));
  const keys = { signing: key, verifying: [key] };
  return createFileServices({
    mongo,
    transactions,
    stores: 'gridfs',
    maxFileBytes: 1e9,
    queryTimeoutMs: 5_000,
    listTimeoutMs: 5_000,
    cursorKeys: keys,
    signedUrlKeys: keys,
    onError: (error) => t.fail(String(error)),
    cleanup: testCleanup(t),
  });
}

const expire = () => marks.updateMany({}, { $set: { until: new Date(0) } });
const here = await open();
const elsewhere = await open();

/** An upload that stalls after its first chunk until it is notified to end. */
async function standing() {
  const bytes = new Readable({ read: () => undefined });
  bytes.push(Buffer.alloc(1_048_576));
  const part: MultipartPart = { field: 'file', fileName: 'a', type: undefined, bytes };
  const upload = here.files.upload(may('create'), Readable.from([part]), 'file', {
    request: 'req_1',
    rights: { check: () => undefined },
  });
  const done = upload.then((seen) => seen.map(({ file }) => file));
  const chunks = mongo.files.collection('files.chunks');
  while ((await chunks.countDocuments()) === 0) await new Promise((resolve) => setImmediate(resolve));
  return { done, end: () => bytes.push(null) };
}

t.test('Orphan cleanup of another process leaves a running upload alone.', async (t) => {
  const upload = await standing();
  t.equal(await elsewhere.orphanCleanup.run(), 0, 'the sweep leaves it alone');
  upload.end();
  const [file] = await upload.done;
  t.match(file, { size: 1_048_576 });
  t.match(await countAll({ mongo }), { documents: 1, heads: 1, chunks: 1, marks: 0 });
  await here.files.remove(may('delete'), String(file?.key), 'req_2');
});

t.test('An upload whose lease expired cannot be committed.', async (t) => {
  const upload = await standing();
  await expire();
  t.equal(await elsewhere.orphanCleanup.run(), 1, 'the sweep takes it');
  upload.end();
  await t.rejects(upload.done, { code: 'upload-timeout' });
  t.match(await countAll({ mongo }), { documents: 0, marks: 1 }, 'its mark stays for a second look');
  await expire();
  await elsewhere.orphanCleanup.run();
  t.match(
    await countAll({ mongo }),
    { documents: 0, heads: 0, chunks: 0, marks: 0 },
    'what arrived late is removed too',
  );
});

t.test('Bytes of a crashed process are removed, and searched for twice.', async (t) => {
  const key = newKey();
  await here.marks.scheduleRemoval('gridfs', key, 0);
  await here.current.write(key, Readable.from([Buffer.from('x')]), NEVER);
  await expire();
  t.equal(await elsewhere.orphanCleanup.run(), 1);
  t.match(await countAll({ mongo }), { heads: 0, chunks: 0, marks: 1 });
  t.equal(await elsewhere.orphanCleanup.run(), 0, 'not at once again');
  await expire();
  t.equal(await elsewhere.orphanCleanup.run(), 1);
  t.match(await countAll({ mongo }), { marks: 0 });
});

t.test('A file whose deletion stopped before it started is kept.', async (t) => {
  const upload = await standing();
  upload.end();
  const [file] = await upload.done;
  if (file === undefined) throw new Error('There is no file');
  await here.marks.scheduleRemoval('gridfs', file.key, 0);
  await expire();
  t.equal(await elsewhere.orphanCleanup.run(), 0);
  t.match(await countAll({ mongo }), { documents: 1, heads: 1, chunks: 1, marks: 0 });
  await here.files.remove(may('delete'), file.key, 'req_3');
});

t.test('A journal entry of an unconfigured store waits for it.', async (t) => {
  await here.marks.scheduleRemoval('s3:elsewhere', newKey(), 0);
  await expire();
  t.equal(await elsewhere.orphanCleanup.run(), 0);
  t.match(await countAll({ mongo }), { marks: 1 });
  await marks.deleteMany({});
});

t.test('Concurrent cleanups process each entry once.', async (t) => {
  for (let i = 0; i < 20; i++) await here.marks.scheduleRemoval('gridfs', newKey(), 0);
  await expire();
  const cleaned = await Promise.all([
    here.orphanCleanup.run(),
    elsewhere.orphanCleanup.run(),
    here.orphanCleanup.run(),
  ]);
  t.equal(
    cleaned.reduce((sum, count) => sum + count, 0),
    20,
  );
  await marks.deleteMany({});
});

t.test('Of two concurrent deletions of a file one succeeds, and the other reports that it is gone.', async (t) => {
  const upload = await standing();
  upload.end();
  const [file] = await upload.done;
  const key = String(file?.key);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 5 }, (_, i) => here.files.remove(may('delete'), key, `req_${i}`)),
  );
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  t.match(await countAll({ mongo }), { documents: 0, heads: 0, chunks: 0 });
});
