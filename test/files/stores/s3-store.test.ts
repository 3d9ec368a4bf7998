/** The S3 store on every installed S3 server, and the errors of an unreachable one. */
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import t from 'tap';
import { createS3Store } from '../../../src/files/stores/s3-store.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { startPathS3 } from '../../helpers/files/path-s3.ts';
import { S3_KINDS, s3Client, testS3, whyNoS3 } from '../../helpers/files/s3.ts';
import { uploadOne } from '../../helpers/files/upload.ts';
import { fileStoreSuite } from '../../suites/file-store.ts';

for (const kind of S3_KINDS) {
  const why = whyNoS3(kind);
  t.test(`The S3 store passes the suite on ${kind}.`, why === undefined ? {} : { skip: why }, async (t) => {
    const settings = await testS3(t, kind);
    // Fewer connections than the readers of the suite: one that does not release its own blocks the rest.
    const store = createS3Store({ ...settings, maxSockets: 16 });
    const behind = s3Client(settings);
    t.teardown(async () => {
      await store.close();
      behind.destroy();
    });
    const count = async () => {
      const objects = await behind.send(new ListObjectsV2Command({ Bucket: settings.bucket }));
      const uploads = await behind.send(new ListMultipartUploadsCommand({ Bucket: settings.bucket }));
      return (objects.Contents?.length ?? 0) + (uploads.Uploads?.length ?? 0);
    };
    fileStoreSuite(t, { store, count });
  });
}

t.test('Files are stored below the path of an endpoint.', async (t) => {
  const s3 = await startPathS3(t);
  t.teardown(setCredentials());
  const { app } = await buildTestApp(t, { MILLRACE_FILE_STORAGE: `s3://pictures/mine?endpoint=${s3.endpoint}/` });
  const file = await uploadOne(app, { bytes: 'hello' });
  t.match([...s3.objects.keys()], [/^\/pictures\/mine\/[^/]+$/]);
  t.equal((await app.inject(new URL(file.url).pathname)).body, 'hello');
  t.equal((await app.inject({ method: 'DELETE', url: `/files/${file.id}` })).statusCode, 204);
  t.strictSame([...s3.objects.keys(), ...s3.misdirected], []);
});

/** @returns a function that reverts them */
function setCredentials(): () => void {
  const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const;
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = 'millrace-test';
  return () => {
    for (const [index, name] of names.entries()) {
      if (before[index] === undefined) delete process.env[name];
      else process.env[name] = before[index];
    }
  };
}
