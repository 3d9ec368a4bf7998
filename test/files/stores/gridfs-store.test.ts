/** The GridFS store against a real MongoDB, also read with the driver's own GridFS reader. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { GridFSBucket, MongoClient, ObjectId } from 'mongodb';
import t from 'tap';
import { createGridfsStore } from '../../../src/files/stores/gridfs-store.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { fileStoreSuite, newKey } from '../../suites/file-store.ts';

const NEVER = new AbortController().signal;

t.test('The GridFS store passes the suite on a real MongoDB.', async (t) => {
  const { url, database } = await testMongo(t);
  const client = await new MongoClient(url, { writeConcern: { w: 'majority' } }).connect();
  t.teardown(() => client.close());
  const db = client.db(`${database}_files`);
  const store = createGridfsStore(db);
  const count = async () =>
    (await db.collection('files.files').countDocuments()) + (await db.collection('files.chunks').countDocuments());
  fileStoreSuite(t, { store, count });

  t.test('Other GridFS readers can read its files.', async (t) => {
    const key = newKey();
    const bytes = randomBytes(2_500_000);
    await store.write(key, Readable.from([bytes]), NEVER);
    const other = new GridFSBucket(db, { bucketName: 'files' });
    t.ok((await buffer(other.openDownloadStream(new ObjectId(key)))).equals(bytes));
    await store.remove(key);
  });

  t.test('It reads files of other writers with another chunk size.', async (t) => {
    const key = newKey();
    const bytes = randomBytes(700_000);
    const other = new GridFSBucket(db, { bucketName: 'files', chunkSizeBytes: 100_000 });
    const target = other.openUploadStreamWithId(new ObjectId(key), 'elsewhere');
    await new Promise<void>((resolve) => target.end(bytes, () => resolve()));
    t.ok((await buffer(await store.read(key, bytes.length))).equals(bytes));
    const part = await buffer(await store.read(key, bytes.length, { start: 99_999, end: 500_000 }));
    t.ok(part.equals(bytes.subarray(99_999, 500_001)));
    await store.remove(key);
  });

  t.test('A missing or short chunk fails the stream: it never ends as if complete.', async (t) => {
    for (const harm of ['missing', 'short'] as const) {
      const key = newKey();
      const size = 3_000_000;
      await store.write(key, Readable.from([randomBytes(size)]), NEVER);
      const chunk = { files_id: new ObjectId(key), n: 1 };
      const chunks = db.collection('files.chunks');
      if (harm === 'missing') await chunks.deleteOne(chunk);
      else await chunks.updateOne(chunk, { $set: { data: randomBytes(10) } });
      await t.rejects(buffer(await store.read(key, size)), { code: 'file-store-unavailable' }, harm);
      await store.remove(key);
    }
  });

  t.test('An unavailable database is reported as an unavailable store.', async (t) => {
    const away = new MongoClient('mongodb://127.0.0.1:9/', { serverSelectionTimeoutMS: 100 });
    const unreachable = createGridfsStore(away.db('x'));
    await t.rejects(unreachable.check(), { code: 'file-store-unavailable' });
    await t.rejects(unreachable.write(newKey(), Readable.from([Buffer.from('x')]), NEVER), {
      code: 'file-store-unavailable',
    });
    await away.close();
  });
});
