/**
 * Uploads that end badly at random points: a disconnect, the size limit, a failing store, a killed process. After orphan cleanup
 * every document has its bytes and all bytes have a document. The short profile is for every run; `MILLRACE_LONG=1` runs 50
 * aborts on each store.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { type Db, MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { s3Client, testS3, whyNoS3 } from '../helpers/files/s3.ts';
import { sha256Of, streamDownload, streamUpload } from '../helpers/files/stream-upload.ts';
import { isLong } from '../helpers/long-profile.ts';
import { testMongo } from '../helpers/mongo.ts';
import { breakable } from '../helpers/network/breakable.ts';
import { startProgram } from '../helpers/programs/program.ts';

const SEED = Number(process.env['MILLRACE_SEED'] ?? 20_260_101);
const CUTS = isLong ? 20 : 4;
const LIMITS = isLong ? 6 : 2;
const FAILURES = isLong ? 8 : 2;
const KILLS = isLong ? 8 : 1;
const UPLOADS_PER_KILL = 2;
const MAX_BYTES = isLong ? 12_000_000 : 6_000_000;

t.setTimeout(isLong ? 1_200_000 : 180_000);
t.comment(`seed ${SEED}`);
// Process starts and store failures wait more than they compute.
t.jobs = 2;

interface Place {
  readonly url: string;
  readonly database: string;
  readonly settings: Record<string, string>;
  /** Makes the store fail until the returned function is called. */
  readonly breakStore: () => Promise<() => Promise<void>>;
  /** The keys of everything in the store, finished or not. */
  readonly keys: () => Promise<string[]>;
}

t.test('Aborted uploads leave no orphans in GridFS.', async (t) => {
  const { url, database } = await testMongo(t);
  const client = await new MongoClient(url).connect();
  t.teardown(() => client.close());
  const db = client.db(`${database}_files`);
  await simulation(t, {
    url,
    database,
    settings: {},
    breakStore: () => refuseChunks(db),
    keys: async () => {
      const heads = await db.collection('files.files').distinct('_id');
      const chunks = await db.collection('files.chunks').distinct('files_id');
      return [...new Set([...heads, ...chunks].map(String))];
    },
  });
});

const why = whyNoS3('s3proxy');
t.test('Aborted uploads leave no orphans in S3.', why === undefined ? {} : { skip: why }, async (t) => {
  const { url, database } = await testMongo(t);
  const server = await testS3(t, 's3proxy');
  const line = await breakable(t, Number(new URL(server.endpoint ?? '').port));
  const behind = s3Client(server);
  t.teardown(() => behind.destroy());
  const credentials = {
    AWS_ACCESS_KEY_ID: server.credentials?.accessKeyId ?? '',
    AWS_SECRET_ACCESS_KEY: server.credentials?.secretAccessKey ?? '',
  };
  // Not the URL of the store: processes that the other test starts would use it too.
  Object.assign(process.env, credentials);
  const settings = { ...credentials, MILLRACE_FILE_STORAGE: `s3://files/here?endpoint=http://127.0.0.1:${line.port}` };
  await simulation(t, {
    url,
    database,
    settings,
    breakStore: async () => {
      line.cut();
      return async () => line.fix();
    },
    keys: async () => {
      const Bucket = server.bucket;
      const { Contents = [] } = await behind.send(new ListObjectsV2Command({ Bucket }));
      const { Uploads = [] } = await behind.send(new ListMultipartUploadsCommand({ Bucket }));
      return [...Contents, ...Uploads].map(({ Key = '' }) => Key.replace('here/', ''));
    },
  });
});

async function simulation(t: Test, testDatabase: Place): Promise<void> {
  const random = randomFrom(SEED);
  const size = () => Math.floor(random() * MAX_BYTES);
  const acknowledged = new Map<string, { seed: number; size: number; url: string }>();
  let aborts = 0;
  let seed = 0;
  const upload = async (base: string, bytes: number, cutAfter?: number) => {
    const wish = { seed: ++seed % 256, size: bytes, ...(cutAfter === undefined ? {} : { cutAfter }) };
    const response = await streamUpload(base, wish);
    if (response?.status !== 200) aborts++;
    else acknowledged.set(JSON.parse(response.body).id, { ...wish, url: JSON.parse(response.body).url });
    return response?.status;
  };

  await t.test('Disconnects, limits and store failures leave no orphans.', async (t) => {
    const { app } = await buildTestApp(
      t,
      { ...testDatabase.settings, MILLRACE_MAX_FILE_BYTES: String(MAX_BYTES) },
      testDatabase,
    );
    const base = await app.listen({ port: 0, host: '127.0.0.1' });
    await upload(base, size());
    for (let i = 0; i < CUTS; i++) {
      const bytes = size();
      t.equal(await upload(base, bytes, random() * bytes), undefined, 'the client went');
    }
    for (let i = 0; i < LIMITS; i++) t.equal(await upload(base, MAX_BYTES + 1 + size()), 413, 'over the limit');
    for (let i = 0; i < FAILURES; i++) {
      const going = upload(base, MAX_BYTES);
      await pause(random() * 100);
      const fix = await testDatabase.breakStore();
      const status = await going;
      await fix();
      t.ok(status === 503 || status === 200 || status === undefined, `the store failed: ${status}`);
    }
    await upload(base, size());
  });

  await t.test('Uploads of killed processes leave no orphans.', async (t) => {
    for (let i = 0; i < KILLS; i++) {
      const program = await startProgram(t, {
        ...testDatabase.settings,
        MONGODB_URL: testDatabase.url,
        MILLRACE_DB: testDatabase.database,
      });
      const going = Array.from({ length: UPLOADS_PER_KILL }, () => upload(program.url, size()));
      await pause(random() * 600);
      await program.kill();
      await Promise.all(going);
    }
  });

  await t.test('After orphan cleanup every document has its bytes and all bytes have a document.', async (t) => {
    const client = await new MongoClient(testDatabase.url).connect();
    t.teardown(() => client.close());
    const marks = client.db(`${testDatabase.database}_log`).collection('uploads');
    t.comment(`${aborts} aborts, ${acknowledged.size} files, ${await marks.countDocuments()} marks left`);
    await marks.updateMany({}, { $set: { until: new Date(0) } });
    const { app, services } = await buildTestApp(t, testDatabase.settings, testDatabase);
    while ((await marks.countDocuments({ cleaned: false })) > 0) await pause(20);
    const documents = (await services.mongo.data.collection('_files').distinct('_id')).map(String);
    t.same((await testDatabase.keys()).sort(), documents.sort(), 'every document has bytes, all bytes have a document');
    const base = await app.listen({ port: 0, host: '127.0.0.1' });
    for (const [id, { seed, size, url }] of acknowledged) {
      const { sha256 } = await streamDownload(new URL(new URL(url).pathname, base).href);
      t.equal(sha256, sha256Of(seed, size), `the acknowledged file ${id} is whole`);
    }
    for (const id of documents) t.equal((await app.inject(`/files/${id}`)).statusCode, 200);
  });
}

/** Lets GridFS accept two chunks of a file and reject the third. */
async function refuseChunks(db: Db): Promise<() => Promise<void>> {
  await db.command({ collMod: 'files.chunks', validator: { n: { $lt: 2 } } });
  return async () => {
    await db.command({ collMod: 'files.chunks', validator: {} });
  };
}

/** Numbers from 0 to 1 determined by the seed alone (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
