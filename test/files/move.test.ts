/** A switch of stores: both serve their files, and `millrace files move` moves all to the store for new files. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { s3Client, testS3, whyNoS3 } from '../helpers/files/s3.ts';
import { bytesOf, sha256Of } from '../helpers/files/stream-upload.ts';
import { countAll, uploadOne } from '../helpers/files/upload.ts';
import { testMongo } from '../helpers/mongo.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const why = whyNoS3('s3proxy');

t.setTimeout(180_000);

t.test('Files move from GridFS to S3 and back.', why === undefined ? {} : { skip: why }, async (t) => {
  const testDatabase = await testMongo(t);
  const s3 = await testS3(t, 's3proxy');
  const behind = s3Client(s3);
  t.teardown(() => behind.destroy());
  const objects = async () =>
    (await behind.send(new ListObjectsV2Command({ Bucket: s3.bucket }))).Contents?.length ?? 0;
  const bucket = `s3://${s3.bucket}/kept?endpoint=${s3.endpoint}`;
  const keys = {
    AWS_ACCESS_KEY_ID: s3.credentials?.accessKeyId ?? '',
    AWS_SECRET_ACCESS_KEY: s3.credentials?.secretAccessKey ?? '',
  };
  Object.assign(process.env, keys);

  const files: { id: string; url: string; seed: number; size: number }[] = [];
  const put = async (app: Parameters<typeof uploadOne>[0], seed: number, size: number) => {
    const { id, url } = await uploadOne(app, { name: `${seed}.bin`, bytes: Buffer.concat([...bytesOf(seed, size)]) });
    files.push({ id, url, seed, size });
  };
  const move = (stores: string) =>
    runMove({ MILLRACE_FILE_STORAGE: stores, MONGODB_URL: testDatabase.url, MILLRACE_DB: testDatabase.database });

  await t.test('Before the switch files are in GridFS.', async (t) => {
    const { app } = await buildTestApp(t, {}, testDatabase);
    for (const [seed, size] of [0, 1_000, 2_500_000, 6_000_000].entries()) await put(app, seed, size);
  });

  await t.test('After the switch new files are stored in S3, and all are served.', async (t) => {
    const { app, services } = await buildTestApp(t, { MILLRACE_FILE_STORAGE: bucket }, testDatabase);
    await put(app, 9, 5_500_000);
    t.equal(await objects(), 1);
    t.match(await countAll(services), { documents: 5, heads: 4 });
    await allServed(t, app);
  });

  await t.test('The move copies old files to S3.', async (t) => {
    const { code, output } = await move(bucket);
    t.equal(code, 0, output);
    t.match(output, /4 of 4: 4 moved to s3:files\/kept\/ \(9 MB\)/);
    t.equal(await objects(), 5);
    t.match((await move(bucket)).output, /Nothing to move/);
  });

  await t.test(
    'The old bytes remain for running downloads and are then cleaned up; all files are served.',
    async (t) => {
      const { app, services } = await buildTestApp(t, { MILLRACE_FILE_STORAGE: bucket }, testDatabase);
      t.match(await countAll(services), { documents: 5, heads: 4, marks: 4 });
      await allServed(t, app);
      await services.mongo.log.collection('uploads').updateMany({}, { $set: { until: new Date(0) } });
      const again = await buildTestApp(t, { MILLRACE_FILE_STORAGE: bucket }, testDatabase);
      const waiting = { cleaned: false };
      while ((await services.mongo.log.collection('uploads').countDocuments(waiting)) > 0)
        await new Promise(setImmediate);
      t.match(await countAll(services), { documents: 5, heads: 0, chunks: 0 });
      await allServed(t, again.app);
    },
  );

  await t.test('A file whose store is not configured is listed but not served.', async (t) => {
    const { app } = await buildTestApp(t, {}, testDatabase);
    t.equal((await app.inject(`/files/${files[0]?.id}`)).statusCode, 200);
    const response = await app.inject(new URL(files[1]?.url ?? '').pathname);
    t.match(response.json(), { code: 'file-store-unavailable' });
    t.notMatch(response.body, /kept/, 'an anonymous client does not learn its store');
    t.match((await move('gridfs')).output, /s3:files\/kept\/ is not in MILLRACE_FILE_STORAGE/);
  });

  await t.test('Files move back to GridFS.', async (t) => {
    const { code, output } = await move(`gridfs ${bucket}`);
    t.equal(code, 0, output);
    const { app, services } = await buildTestApp(t, {}, testDatabase);
    t.match(await countAll(services), { documents: 5, heads: 5 });
    await allServed(t, app);
  });

  t.test('A store that cannot be used is named.', async (t) => {
    const { code, output } = await move(`s3://${s3.bucket}-none?endpoint=${s3.endpoint}`);
    t.equal(code, 1);
    t.match(output, /MILLRACE_FILE_STORAGE: the store s3:files-none cannot be used/);
  });

  async function allServed(t: Test, app: Parameters<typeof uploadOne>[0]) {
    for (const { url, seed, size } of files) {
      const response = await app.inject(new URL(url).pathname);
      t.equal(response.statusCode, 200);
      t.equal(response.headers['etag'], `"${sha256Of(seed, size)}"`);
      t.equal(response.rawPayload.equals(Buffer.concat([...bytesOf(seed, size)])), true, `${size} bytes`);
    }
  }
});

function runMove(settings: Record<string, string>): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [MAIN, 'files', 'move'], {
      env: { ...process.env, NODE_OPTIONS: '', ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text) => {
        output += text;
      });
    }
    child.once('close', (code) => resolve({ code, output }));
  });
}
