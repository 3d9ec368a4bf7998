/** Uploads by HTML forms and upload libraries, and the file names that clients send. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { countAll, type FilePart, handmade, multipart, NO_FILE } from '../../helpers/files/upload.ts';
import { runScenarios } from '../../helpers/scenario.ts';

const { app, services } = await buildTestApp(t);

t.test('An empty file input is skipped beside a chosen file, in either order.', async (t) => {
  const files = { field: 'files' };
  await runScenarios(t, app, [
    {
      name: 'after it',
      request: 'POST /files',
      ...(await multipart({}, NO_FILE)),
      status: 200,
      expect: { name: 'a.txt' },
    },
    { name: 'before it', request: 'POST /files', ...(await multipart(NO_FILE, {})), status: 200, expect: { size: 5 } },
    {
      name: 'in another field',
      request: 'POST /files',
      ...(await multipart({ ...NO_FILE, field: 'second' }, {})),
      status: 200,
    },
    {
      name: 'in bulk',
      request: 'POST /files/bulk',
      ...(await multipart({ ...NO_FILE, ...files }, files, { ...NO_FILE, ...files }, ['metadata', '7'])),
      status: 200,
      expect: [{ name: 'a.txt', metadata: 7 }],
    },
    {
      name: 'without a name and a file name, as the FormData of Node sends it',
      request: 'POST /files',
      ...(await multipart({ ...NO_FILE, name: '' }, {})),
      status: 200,
    },
    {
      name: 'a file with bytes and no name is a file',
      request: 'POST /files',
      ...(await multipart({ ...NO_FILE, bytes: 'hello' })),
      status: 200,
      expect: { name: 'file', size: 5 },
    },
    {
      name: 'an empty file with a name is a file',
      request: 'POST /files',
      ...(await multipart({ bytes: '' })),
      status: 200,
      expect: { size: 0 },
    },
  ]);
  t.equal((await app.inject('/files')).json().length, 7, 'no others were stored');
});

t.test('Forms of common upload libraries are accepted, and their text fields ignored.', async (t) => {
  const rows: readonly (readonly [string, string, Awaited<ReturnType<typeof multipart>>])[] = [
    ['FilePond: a text field of the same name first', '/files', await multipart(['file', '{}'], {})],
    ['FilePond with several', '/files/bulk', await multipart(['files', '{}'], { field: 'files' })],
    [
      'Uppy: metadata first',
      '/files',
      await multipart(['relativePath', 'null'], ['name', 'a.txt'], ['type', 'text/plain'], {}),
    ],
    ['Uppy, bundled', '/files/bulk', await multipart({ field: 'files[]' }, { field: 'files[]' })],
    [
      'Plupload: a file of one chunk',
      '/files',
      await multipart(['name', 'a.txt'], ['chunk', '0'], ['chunks', '1'], {}),
    ],
    ['Plupload by offsets', '/files', await multipart(['offset', '0'], ['total', '5'], {})],
    [
      'Dropzone: a file of one chunk',
      '/files',
      await multipart(['dzuuid', 'x'], ['dzchunkindex', '0'], ['dztotalfilesize', '5'], ['dztotalchunkcount', '1'], {}),
    ],
    ['Dropzone, several at once', '/files/bulk', await multipart({ field: 'files[0]' }, { field: 'files[1]' })],
    ['a form with a submit button', '/files', await multipart({}, ['submit', 'Upload'])],
    ['fields with names of the prototype', '/files', await multipart(['constructor', '1'], ['__proto__', '1'], {})],
  ];
  for (const [name, url, { send, headers }] of rows) {
    const response = await app.inject({ method: 'POST', url, payload: send, headers });
    t.equal(response.statusCode, 200, `${name}: ${response.body.slice(0, 200)}`);
    t.match(JSON.stringify(response.json()), /"metadata":null/, 'nothing of them is stored');
  }
});

t.test('One chunk of a file is rejected with advice to disable chunking, and nothing is stored.', async (t) => {
  const before = await countAll(services);
  const rows: readonly (readonly [string, Awaited<ReturnType<typeof multipart>>, Record<string, string>?])[] = [
    ['Dropzone', await multipart(['dzchunkindex', '0'], ['dztotalchunkcount', '3'], {})],
    ['Dropzone, by its size', await multipart(['dztotalfilesize', '500'], {})],
    ['Plupload', await multipart(['name', 'a'], ['chunk', '0'], ['chunks', '2'], { name: 'blob' })],
    ['Plupload, fields last', await multipart({ name: 'blob' }, ['offset', '0'], ['total', '10'])],
    ['Resumable.js', await multipart(['resumableTotalChunks', '2'], {})],
    ['Flow.js', await multipart(['flowTotalChunks', '4'], {})],
    ['Fine Uploader', await multipart(['qqtotalparts', '4'], {})],
    ['jQuery File Upload', await multipart({}), { 'content-range': 'bytes 0-4/500' }],
    ['FilePond', await multipart(['file', '{}']), { 'upload-length': '500' }],
  ];
  for (const [name, { send, headers }, more] of rows) {
    const response = await app.inject({
      method: 'POST',
      url: '/files',
      payload: send,
      headers: { ...headers, ...more },
    });
    const expected = { status: 400, code: 'malformed-request', detail: /chunk/, hint: /`chunking: false`/ };
    t.match(response.json(), expected, name);
  }
  t.same(await countAll(services), before);
});

t.test('File names are decoded as browsers and RFC 8187 encode them.', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    [`filename="a.txt"; filename*=UTF-8''%C3%A4%20b.txt`, 'ä b.txt'],
    [`filename*=UTF-8''%C3%A4.txt; filename="a.txt"`, 'ä.txt'],
    [`filename*=utf-8'de'%C3%A4.txt`, 'ä.txt'],
    [`filename="a.txt"; FileName*=iso-8859-1'en'%E4.txt`, 'ä.txt'],
    [`filename="a.txt"; filename*=UTF-8''%E4.txt`, 'a.txt'],
    [`filename="a.txt"; filename*=UTF-8''%zz.txt`, 'a.txt'],
    [`filename="a.txt"; filename*=nonsense''b.txt`, 'a.txt'],
    [`filename="a.txt"; filename*=UTF-8''`, 'a.txt'],
    [`filename="a.txt"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`, 'passwd'],
    ['filename="a%22b%22.txt"', 'a"b".txt'],
    ['filename="a%0D%0Ab.txt"', 'ab.txt'],
    ['filename="100%25 %zz.txt"', '100%25 %zz.txt'],
    ['filename="a\\"b.txt"', 'a"b.txt'],
    ['filename="C:\\fakepath\\b.txt"', 'b.txt'],
    ['filename="semi;colon=1.txt"', 'semi;colon=1.txt'],
    ['filename=plain.txt', 'plain.txt'],
    ['filename = "spaced.txt"', 'spaced.txt'],
    ['filename="日本.txt"', '日本.txt'],
  ];
  for (const [parameters, name] of rows) {
    const disposition = `Content-Disposition: form-data; name="file"; ${parameters}`;
    const { send, headers } = handmade(['--x', disposition, 'Content-Type: text/plain', '', 'hello', '--x--', '']);
    const response = await app.inject({ method: 'POST', url: '/files', payload: send, headers });
    t.equal(response.json().name, name, parameters);
  }
});

t.test('An image without a declared type is shown inline, and text in its own encoding.', async (t) => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  const rows: readonly (readonly [FilePart, string, string])[] = [
    [{ name: 'a.png', type: 'application/octet-stream', bytes: png }, 'image/png', 'inline'],
    [{ name: 'a.png', type: 'image/*', bytes: png }, 'image/png', 'inline'],
    [
      { name: 'a.csv', type: 'text/csv', bytes: Buffer.from('\xe4', 'latin1') },
      'text/csv; charset=windows-1252',
      'attachment',
    ],
    [{ name: 'a.txt', bytes: Buffer.from('\ufeffä', 'utf16le') }, 'text/plain; charset=utf-16le', 'inline'],
  ];
  for (const [file, served, disposition] of rows) {
    const { send, headers } = await multipart(file);
    const stored = (await app.inject({ method: 'POST', url: '/files', payload: send, headers })).json();
    t.equal(stored.type, served.split(';')[0]);
    t.notMatch(JSON.stringify(stored), /charset/, 'the encoding is only served');
    const response = await app.inject(new URL(stored.url).pathname);
    t.match(response.headers, { 'content-type': served, 'content-disposition': new RegExp(`^${disposition}`) });
  }
});
