/** Values of MILLRACE_FILE_STORAGE. */
import t from 'tap';
import { parseStorageUrls, storeName } from '../../../src/files/stores/storage-url.ts';

t.test('GridFS is a store.', async (t) => {
  t.same(parseStorageUrls('gridfs'), [{ kind: 'gridfs' }]);
});

t.test('A bucket can be in the path of a server.', async (t) => {
  t.same(parseStorageUrls('s3://pictures/a/b?endpoint=http://127.0.0.1:9000&region=eu-1'), [
    {
      kind: 's3',
      bucket: 'pictures',
      prefix: 'a/b/',
      endpoint: 'http://127.0.0.1:9000',
      region: 'eu-1',
      pathStyle: true,
    },
  ]);
});

t.test('The endpoint of a bucket can have a path.', async (t) => {
  const endpointOf = (endpoint: string) => {
    const [address] = parseStorageUrls(`s3://pictures?endpoint=${encodeURIComponent(endpoint)}`);
    return address?.kind === 's3' ? [address.endpoint, address.pathStyle] : null;
  };
  const supabase = 'https://x.supabase.co/storage/v1/s3';
  t.same(endpointOf(supabase), [supabase, true]);
  t.same(endpointOf(`${supabase}/`), [supabase, true]);
  t.same(endpointOf('http://127.0.0.1:9000/'), ['http://127.0.0.1:9000', true]);
});

t.test('A bucket of AWS is in the host name.', async (t) => {
  t.same(parseStorageUrls('s3://pictures'), [
    { kind: 's3', bucket: 'pictures', prefix: '', endpoint: undefined, region: 'us-east-1', pathStyle: false },
  ]);
});

t.test('The first store is for new files, and the others are read.', async (t) => {
  const addresses = parseStorageUrls(' s3://new?endpoint=http://a:1   gridfs s3://old/p ');
  t.same(addresses.map(storeName), ['s3:new', 'gridfs', 's3:old/p/']);
});

const WRONG: readonly (readonly [string, RegExp])[] = [
  ['', /at least one store/],
  ['disk', /'disk' is not a store/],
  ['s3://UP_PER', /is not a bucket name/],
  ['s3://me:secret@pictures', /credentials must not be/],
  ['s3://pictures?endpoint=ftp://x', /not the URL of a server/],
  ['s3://pictures?endpoint=http://u:p@x', /not the URL of a server/],
  ['s3://pictures?endpoint=http://x/s3%3Fa=b', /not the URL of a server/],
  ['s3://pictures?endpoint=http://x/s3%23a', /not the URL of a server/],
  ['s3://pictures?endpoint=http://%5B/s3', /not the URL of a server/],
  ['s3://pictures?secret=x', /'secret' is unknown/],
];

for (const [text, message] of WRONG) {
  t.test(`rejects '${text}'`, async (t) => {
    t.throws(() => parseStorageUrls(text), message);
    try {
      parseStorageUrls(text);
    } catch (error) {
      t.notMatch(String(error), /me:secret|u:p/, 'and does not repeat a secret');
    }
  });
}
