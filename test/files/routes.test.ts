/** Uploads, resources, lists and deletion over HTTP: a scenario for every row of the API. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { countAll, handmade, multipart, sha256, uploadOne } from '../helpers/files/upload.ts';
import { runScenarios } from '../helpers/scenario.ts';

const { app, services } = await buildTestApp(t, { MILLRACE_MAX_FILE_BYTES: '100000' });
const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
const NOTHING = { documents: 0, heads: 0, chunks: 0, marks: 0 };

t.test('Before the first upload there are no files.', async (t) => {
  await runScenarios(t, app, [
    { name: 'the list is empty', request: 'GET /files', status: 200, text: '[]' },
    { name: 'no file has an id', request: 'GET /files/0123456789abcdef01234567', status: 404, code: 'file-not-found' },
    { name: 'what is no id is not found', request: 'GET /files/nope', status: 404, code: 'file-not-found' },
    { name: 'no bytes either', request: 'GET /files/nope/a.png', status: 404, code: 'file-not-found' },
    { name: 'nor can it be deleted', request: 'DELETE /files/nope', status: 404, code: 'file-not-found' },
    {
      name: 'other methods are named',
      request: 'PUT /files',
      status: 405,
      code: 'method-not-allowed',
      expectHeaders: { allow: /GET.*POST/ },
    },
  ]);
});

t.test('One file is uploaded.', async (t) => {
  await runScenarios(t, app, [
    {
      name: 'returns its resource',
      request: 'POST /files',
      ...(await multipart({ name: 'my pic.png', type: 'image/png', bytes: PNG })),
      status: 200,
      expectHeaders: { 'content-type': /^application\/json/, 'cache-control': 'private, no-cache' },
      expect: {
        id: /^[0-9a-f]{24}$/,
        url: /^http:\/\/[^/]+\/files\/[0-9a-f]{24}\/my%20pic\.png$/,
        name: 'my pic.png',
        type: 'image/png',
        size: PNG.length,
        sha256: sha256(PNG),
        createdAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
        createdBy: null,
        metadata: null,
      },
    },
    {
      name: 'may have metadata JSON before it',
      request: 'POST /files',
      ...(await multipart(['metadata', '{"album":{"id":7},"$tag":[1.5,null,"x"]}'], {})),
      status: 200,
      expect: { metadata: { album: { id: 7 }, $tag: [1.5, null, 'x'] } },
    },
    {
      name: 'may have metadata JSON after it',
      request: 'POST /files',
      ...(await multipart({}, ['metadata', '["a"]'])),
      status: 200,
      expect: { metadata: ['a'] },
    },
    {
      name: 'may be empty',
      request: 'POST /files',
      ...(await multipart({ name: 'empty.txt', bytes: '' })),
      status: 200,
      expect: { size: 0, sha256: sha256(''), type: 'text/plain' },
    },
    {
      name: 'may be as large as the limit',
      request: 'POST /files',
      ...(await multipart({ bytes: Buffer.alloc(100_000, 'a') })),
      status: 200,
      expect: { size: 100_000 },
    },
    {
      name: 'has its type from its bytes when the client errs',
      request: 'POST /files',
      ...(await multipart({ name: 'page.html', type: 'text/html', bytes: PNG })),
      status: 200,
      expect: { name: 'page.html', type: 'application/octet-stream' },
    },
    {
      name: 'has a harmless name',
      request: 'POST /files',
      ...handmade([
        '--x',
        'Content-Disposition: form-data; name="file"; filename="../../etc/pass\u202ewd"',
        'Content-Type: text/plain',
        '',
        'hello',
        '--x--',
        '',
      ]),
      status: 200,
      expect: { name: 'passwd', url: /\/passwd$/ },
    },
  ]);
});

t.test('Several files are uploaded.', async (t) => {
  await runScenarios(t, app, [
    {
      name: 'are returned in order',
      request: 'POST /files/bulk',
      ...(await multipart(
        { field: 'files', name: '1.txt', bytes: 'one' },
        { field: 'files', name: '2.txt', bytes: 'two' },
        { field: 'files', name: '1.txt', bytes: 'one' },
      )),
      status: 200,
      expect: [
        { name: '1.txt', sha256: sha256('one') },
        { name: '2.txt', sha256: sha256('two') },
        { name: '1.txt', sha256: sha256('one') },
      ],
    },
    {
      name: 'one metadata is for all of them',
      request: 'POST /files/bulk',
      ...(await multipart({ field: 'files' }, ['metadata', '7'], { field: 'files' })),
      status: 200,
      expect: [{ metadata: 7 }, { metadata: 7 }],
    },
    {
      name: 'as many metadataFields are one each',
      request: 'POST /files/bulk',
      ...(await multipart({ field: 'files' }, ['metadata', '1'], { field: 'files' }, ['metadata', '2'])),
      status: 200,
      expect: [{ metadata: 1 }, { metadata: 2 }],
    },
    {
      name: 'twenty are possible, with twelve fields',
      request: 'POST /files/bulk',
      ...(await multipart(...Array.from({ length: 20 }, () => ({ field: 'files' })))),
      status: 200,
    },
    {
      name: 'one is possible too',
      request: 'POST /files/bulk',
      ...(await multipart({ field: 'files' })),
      status: 200,
      expect: [{ size: 5 }],
    },
  ]);
});

t.test('A file has the same resource in lists, and its URL has the host of the request.', async (t) => {
  const file = await uploadOne(app, { name: 'r.txt' }, ['metadata', '{"a":1}']);
  await runScenarios(t, app, [
    { name: 'are read by id', request: `GET /files/${file.id}`, status: 200, expect: file },
    { name: 'are in the list', request: 'GET /files', status: 200, expect: [{ id: /./ }] },
  ]);
  const list = (await app.inject('/files')).json();
  t.strictSame(list.at(-1), file, 'the list has the same resource');
  const other = await app.inject({ url: `/files/${file.id}`, headers: { host: 'localhost:8443' } });
  t.match(other.json().url, /^http:\/\/localhost:8443\/files\//, 'the url has the host of the request');
  const evil = await app.inject({ url: `/files/${file.id}`, headers: { host: 'x"><script>' } });
  t.equal(evil.statusCode, 403);
  t.notMatch(evil.json().url, /script/);
});

t.test('Unknown parameters are rejected.', async (t) => {
  const { id } = await uploadOne(app, { name: 'p.txt' });
  const before = await countAll(services);
  const row = (request: string, more: object = {}) => {
    return { name: request, request: `${request}?force=1`, ...more, status: 400, code: 'unknown-parameter' };
  };
  const upload = await multipart({});
  await runScenarios(
    t,
    app,
    [
      row('POST /files', upload),
      row('POST /files/bulk', upload),
      row('GET /files'),
      row(`GET /files/${id}`),
      row(`POST /files/${id}/sign`, { send: {} }),
      row(`DELETE /files/${id}`),
    ].map((scenario) => ({ ...scenario, name: `are rejected: ${scenario.name.replace(id, 'id')}` })),
  );
  t.same(await countAll(services), before, 'nothing was stored or deleted');
});

t.test('a signed URL', async (t) => {
  const { id } = await uploadOne(app, { name: 's.txt' });
  const request = `POST /files/${id}/sign`;
  const send = '{"expiresIn":30}';
  const type = (name: string) => ({ 'content-type': name });
  await runScenarios(t, app, [
    {
      name: 'is not created from a form',
      request,
      send,
      headers: type('application/x-www-form-urlencoded'),
      status: 415,
      code: 'unsupported-media-type',
    },
    {
      name: 'nor of a patch',
      request,
      send,
      headers: type('application/merge-patch+json'),
      status: 415,
      code: 'unsupported-media-type',
    },
  ]);
  for (const [payload, seconds] of [[{ expiresIn: 30 }, 30] as const, [undefined, 300] as const]) {
    const signed = await app.inject({ method: 'POST', url: `/files/${id}/sign`, ...(payload && { payload }) });
    const left = Date.parse(signed.json().expiresAt) - Date.now();
    t.ok(Math.abs(left - seconds * 1_000) < 10_000, `ends in ${seconds} seconds`);
  }
  const untyped = await app.inject({ method: 'POST', url: `/files/${id}/sign`, payload: Buffer.from(send) });
  t.match(untyped.json(), { status: 400, code: 'body-required' }, 'nor of a body without a type');
});

t.test('A deletion supports conditions.', async (t) => {
  const { id, url, sha256 } = await uploadOne(app, { name: 'c.txt' });
  const { etag } = (await app.inject({ method: 'HEAD', url: new URL(url).pathname })).headers;
  t.equal(etag, `"${sha256}"`);
  const request = `DELETE /files/${id}`;
  const refused = { request, status: 412, code: 'precondition-failed', expectHeaders: { etag: `"${sha256}"` } };
  await runScenarios(t, app, [
    { name: 'another tag', ...refused, headers: { 'if-match': '"x"' } },
    { name: 'the weak form of another tag', ...refused, headers: { 'if-match': 'W/"x", "x-gzip"' } },
    { name: 'no such file', ...refused, headers: { 'if-none-match': '*' } },
    { name: 'older', ...refused, headers: { 'if-unmodified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' } },
    { name: 'the file is still there', request: `GET /files/${id}`, status: 200, expect: { id } },
    {
      name: 'its tag as a compressing proxy passes it on, and a date that is no condition of a deletion',
      request,
      headers: { 'if-match': `"x", W/"${sha256}"`, 'if-modified-since': new Date(Date.now() + 1e6).toUTCString() },
      status: 204,
    },
    { name: 'any, of a deleted file', ...refused, headers: { 'if-match': '*' }, expectHeaders: { etag: null } },
  ]);
});

t.test('A deleted file is not found.', async (t) => {
  const file = await uploadOne(app, { name: 'gone.txt' });
  const before = await countAll(services);
  await runScenarios(t, app, [
    { name: 'answers 204', request: `DELETE /files/${file.id}`, status: 204, text: '' },
    { name: 'is final', request: `DELETE /files/${file.id}`, status: 404, code: 'file-not-found' },
    { name: 'the bytes are removed', request: `GET /files/${file.id}/gone.txt`, status: 404, code: 'file-not-found' },
  ]);
  const after = await countAll(services);
  t.same(after, { ...before, documents: before.documents - 1, heads: before.heads - 1, chunks: before.chunks - 1 });
  for (const { id } of (await app.inject('/files')).json()) await app.inject({ method: 'DELETE', url: `/files/${id}` });
  t.same(await countAll(services), NOTHING, 'when all files are deleted nothing is left of them');
});

t.test('Resources use the configured public URL.', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_PUBLIC_URL: 'https://files.example.com' });
  t.match((await uploadOne(app, {})).url, /^https:\/\/files\.example\.com\/files\/[0-9a-f]{24}\/a\.txt$/);
});

t.test('In production mode no client accesses files without a policy.', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const upload = await multipart({});
  await runScenarios(t, app, [
    { name: 'list', request: 'GET /files', status: 401, code: 'not-authenticated' },
    { name: 'resource', request: 'GET /files/0123456789abcdef01234567', status: 401, code: 'not-authenticated' },
    { name: 'bytes', request: 'GET /files/0123456789abcdef01234567/a', status: 401, code: 'not-authenticated' },
    { name: 'upload', request: 'POST /files', ...upload, status: 401, code: 'not-authenticated' },
    { name: 'bulk', request: 'POST /files/bulk', ...upload, status: 401, code: 'not-authenticated' },
    { name: 'delete', request: 'DELETE /files/0123456789abcdef01234567', status: 401, code: 'not-authenticated' },
  ]);
});
