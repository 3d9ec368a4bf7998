/** The S3 store on every S3 server that is installed here, and what an unreachable one looks like. */
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import t from 'tap';
import { openS3Store } from '../../../src/files/stores/s3-store.ts';
import { S3_KINDS, s3Client, testS3, whyNoS3 } from '../../helpers/files/s3.ts';
import { fileStoreSuite } from '../../suites/file-store.ts';

for (const kind of S3_KINDS) {
  const why = whyNoS3(kind);
  t.test(`on ${kind}`, why === undefined ? {} : { skip: why }, async (t) => {
    const settings = await testS3(t, kind);
    // Fewer connections than the suite opens readers: one that does not free its own stops the rest.
    const store = openS3Store({ ...settings, maxSockets: 16 });
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
