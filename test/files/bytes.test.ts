/** The bytes of files over HTTP: headers, ranges, conditions, for whole and empty files and for those shown inline. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { sha256, uploadOne } from '../helpers/files/upload.ts';
import { runScenarios } from '../helpers/scenario.ts';

const { app, services } = await buildTestApp(t);
const BYTES = randomBytes(2_500_000);
const file = await uploadOne(app, { name: 'movie.bin', type: 'application/x-thing', bytes: BYTES });
const path = new URL(file.url).pathname;
const etag = `"${file.sha256}"`;
const created = new Date(file.createdAt).toUTCString();
const earlier = new Date(Date.parse(file.createdAt) - 60_000).toUTCString();
const all = { 'content-length': '2500000', 'content-range': null };
const part = (from: number, to: number) => ({
  'content-range': `bytes ${from}-${to}/2500000`,
  'content-length': String(to - from + 1),
});

t.test('A request without a range gets the whole file.', async (t) => {
  const response = await app.inject(path);
  t.ok(response.rawPayload.equals(BYTES), 'byte for byte');
  t.match(response.headers, {
    'content-type': 'application/x-thing',
    'content-length': '2500000',
    etag,
    'last-modified': created,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    vary: /Authorization/,
    'x-content-type-options': 'nosniff',
    'content-disposition': 'attachment; filename="movie.bin"',
    'content-security-policy': /default-src 'none'.*sandbox/,
    'cross-origin-resource-policy': 'cross-origin',
  });
  t.equal(
    (await app.inject(`/files/${file.id}/any-other-name.html`)).headers['content-disposition'],
    'attachment; filename="movie.bin"',
  );
  t.equal(
    (await app.inject({ url: path, headers: { accept: 'image/png' } })).statusCode,
    200,
    'Accept does not matter',
  );
});

const range = (value: string, more: Record<string, string> = {}) => ({ range: value, ...more });

await runScenarios(t, app, [
  { name: 'HEAD', request: `HEAD ${path}`, status: 200, expectHeaders: { ...all, etag }, text: '' },
  { name: 'HEAD has no ranges', request: `HEAD ${path}`, headers: range('bytes=0-1'), status: 200, expectHeaders: all },
  {
    name: 'a range',
    request: `GET ${path}`,
    headers: range('bytes=10-19'),
    status: 206,
    expectHeaders: { ...part(10, 19), etag },
  },
  {
    name: 'a suffix',
    request: `GET ${path}`,
    headers: range('bytes=-10'),
    status: 206,
    expectHeaders: part(2_499_990, 2_499_999),
  },
  {
    name: 'from a position',
    request: `GET ${path}`,
    headers: range('bytes=2499999-'),
    status: 206,
    expectHeaders: part(2_499_999, 2_499_999),
  },
  { name: 'several ranges', request: `GET ${path}`, headers: range('bytes=0-1,5-6'), status: 200, expectHeaders: all },
  { name: 'no range at all', request: `GET ${path}`, headers: range('bytes=x'), status: 200, expectHeaders: all },
  {
    name: 'out of range',
    request: `GET ${path}`,
    headers: range('bytes=2500000-'),
    status: 416,
    code: 'range-not-satisfiable',
    expectHeaders: { 'content-range': 'bytes */2500000' },
  },
  { name: 'If-Range holds', request: `GET ${path}`, headers: range('bytes=0-0', { 'if-range': etag }), status: 206 },
  {
    name: 'If-Range by date',
    request: `GET ${path}`,
    headers: range('bytes=0-0', { 'if-range': created }),
    status: 206,
  },
  {
    name: 'If-Range of another',
    request: `GET ${path}`,
    headers: range('bytes=0-0', { 'if-range': '"x"' }),
    status: 200,
    expectHeaders: all,
  },
  {
    name: 'If-None-Match',
    request: `GET ${path}`,
    headers: { 'if-none-match': `"x", ${etag}` },
    status: 304,
    text: '',
    expectHeaders: { etag, 'cache-control': 'private, no-cache' },
  },
  { name: 'If-None-Match with HEAD', request: `HEAD ${path}`, headers: { 'if-none-match': etag }, status: 304 },
  {
    name: 'If-None-Match before Range',
    request: `GET ${path}`,
    headers: range('bytes=0-0', { 'if-none-match': etag }),
    status: 304,
  },
  { name: 'If-None-Match of another', request: `GET ${path}`, headers: { 'if-none-match': '"x"' }, status: 200 },
  { name: 'If-Modified-Since', request: `GET ${path}`, headers: { 'if-modified-since': created }, status: 304 },
  { name: 'If-Modified-Since earlier', request: `GET ${path}`, headers: { 'if-modified-since': earlier }, status: 200 },
  { name: 'If-Match', request: `GET ${path}`, headers: { 'if-match': etag }, status: 200 },
  {
    name: 'If-Match of another',
    request: `GET ${path}`,
    headers: { 'if-match': '"x"' },
    status: 412,
    code: 'precondition-failed',
    expectHeaders: { etag },
  },
  {
    name: 'If-Unmodified-Since earlier',
    request: `GET ${path}`,
    headers: { 'if-unmodified-since': earlier },
    status: 412,
    code: 'precondition-failed',
  },
]);

t.test('Pages of an allowed origin can read Content-Range.', async (t) => {
  const headers = { origin: 'http://localhost:5173', ...range('bytes=0-1') };
  const response = await app.inject({ url: path, headers });
  const exposed = String(response.headers['access-control-expose-headers']).toLowerCase().split(', ');
  for (const name of ['accept-ranges', 'content-range', 'content-disposition', 'etag']) {
    t.ok(name in response.headers && exposed.includes(name), name);
  }
});

t.test('Any range returns exactly its bytes.', async (t) => {
  const seed = Number(process.env['MILLRACE_SEED'] ?? 7);
  t.comment(`seed ${seed}`);
  for (let i = 0; i < 30; i++) {
    const from = (seed * 7_919 + i * 104_729 * 17) % BYTES.length;
    const to = Math.min(BYTES.length - 1, from + ((i * 50_021) % 1_500_000));
    const { rawPayload } = await app.inject({ url: path, headers: { range: `bytes=${from}-${to}` } });
    if (!rawPayload.equals(BYTES.subarray(from, to + 1))) t.fail(`bytes ${from} to ${to}`);
  }
});

t.test('An empty file is served without ranges.', async (t) => {
  const empty = await uploadOne(app, { name: 'e.txt', bytes: '' });
  const url = new URL(empty.url).pathname;
  await runScenarios(t, app, [
    { name: 'is served', request: `GET ${url}`, status: 200, text: '', expectHeaders: { 'content-length': '0' } },
    { name: 'has no ranges', request: `GET ${url}`, headers: range('bytes=0-'), status: 200, text: '' },
    { name: 'has a hash', request: `HEAD ${url}`, status: 200, expectHeaders: { etag: `"${sha256('')}"` } },
  ]);
});

t.test('what browsers show inline, and what they download', async (t) => {
  const rows = [
    ['a.png', 'image/png', '\x89PNG\r\n\x1a\n', 'inline', 'image/png'],
    ['a.txt', 'text/plain', 'hello', 'inline', 'text/plain; charset=utf-8'],
    ['a.pdf', 'application/pdf', '%PDF-1.7', 'inline', 'application/pdf'],
    ['a.svg', 'image/svg+xml', '<svg/>', 'attachment', 'image/svg+xml'],
    ['a.html', 'text/html', '<p>', 'attachment', 'text/html; charset=utf-8'],
    ['a.xml', 'text/xml', '<a/>', 'attachment', 'text/xml; charset=utf-8'],
    ['a.html', 'image/png', '<p>', 'attachment', 'application/octet-stream'],
    ['a.png', 'text/html', '\x89PNG\r\n\x1a\n', 'attachment', 'application/octet-stream'],
  ] as const;
  for (const [name, type, bytes, disposition, served] of rows) {
    const { url } = await uploadOne(app, { name, type, bytes: Buffer.from(bytes, 'latin1') });
    const { headers } = await app.inject(new URL(url).pathname);
    t.match(headers, {
      'content-type': served,
      'content-disposition': new RegExp(`^${disposition}; filename="${name}"`),
      'x-content-type-options': 'nosniff',
    });
  }
});

t.test('A non-ASCII name is preserved.', async (t) => {
  const { url } = await uploadOne(app, { name: 'Привет, мир.txt' });
  t.match(url, /\/%D0%9F.*%2C%20.*\.txt$/);
  const { headers, statusCode } = await app.inject(new URL(url).pathname);
  t.equal(statusCode, 200);
  t.equal(
    headers['content-disposition'],
    `inline; filename="______, ___.txt"; filename*=UTF-8''${encodeURIComponent('Привет, мир.txt')}`,
  );
});

t.test('Missing bytes are an error of the store, not an empty file.', async (t) => {
  const lost = await uploadOne(app, { name: 'lost.txt' });
  await services.mongo.files.collection('files.files').deleteOne({ filename: lost.id });
  await runScenarios(t, app, [
    { name: 'said so', request: `GET ${new URL(lost.url).pathname}`, status: 503, code: 'file-store-unavailable' },
  ]);
});
