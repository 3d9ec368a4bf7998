/** Rejected uploads: each error names what is expected, and none leaves anything behind. */
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { countAll, handmade, type Multipart, multipart, NO_FILE } from '../helpers/files/upload.ts';
import { runScenarios, type Scenario } from '../helpers/scenario.ts';

const { app, services } = await buildTestApp(t, { MILLRACE_MAX_FILE_BYTES: '100000' });
const EXPECTS = { hint: /multipart\/form-data with/ };

const part = (name: string, more: string, text = 'x') => [
  '--x',
  `Content-Disposition: form-data; ${name}${more}`,
  '',
  text,
];

const large = { field: 'files', bytes: Buffer.alloc(100_001) };
const file = { field: 'files' };

interface Row extends Multipart, Pick<Scenario, 'name' | 'status' | 'code' | 'expect'> {
  readonly bulk?: true;
}

const ROWS: readonly Row[] = [
  {
    name: 'JSON',
    ...handmade(['{}'], 'application/json'),
    status: 415,
    code: 'unsupported-media-type',
    expect: EXPECTS,
  },
  {
    name: 'a form of the other kind',
    ...handmade(['file=x'], 'application/x-www-form-urlencoded'),
    status: 415,
    code: 'unsupported-media-type',
    expect: EXPECTS,
  },
  {
    name: 'the bytes themselves',
    ...handmade(['\x89PNG'], 'image/png'),
    status: 415,
    code: 'unsupported-media-type',
    expect: EXPECTS,
  },
  {
    name: 'multipart without a boundary',
    ...handmade(['x'], 'multipart/form-data'),
    status: 400,
    code: 'malformed-request',
  },
  {
    name: 'multipart without a part',
    ...handmade(['--x--', '']),
    status: 400,
    code: 'malformed-request',
    expect: EXPECTS,
  },
  { name: 'an empty multipart body', ...handmade(['']), status: 400, code: 'malformed-request', expect: EXPECTS },
  {
    name: 'a body that ends early',
    ...handmade(part('name="file"', '; filename="a"')),
    status: 400,
    code: 'malformed-request',
  },
  {
    name: 'a body that ends in the headers',
    ...handmade(['--x', 'Content-Disposition: form-data; na']),
    status: 400,
    code: 'malformed-request',
  },
  { name: 'garbage', ...handmade(['\0\x01\x02garbage\r\n\r\n--y']), status: 400, code: 'malformed-request' },
  {
    name: 'another field',
    ...(await multipart({ field: 'picture' })),
    status: 400,
    code: 'malformed-request',
    expect: { detail: /'picture'/, ...EXPECTS },
  },
  { name: 'the field of bulk', ...(await multipart(file)), status: 400, code: 'malformed-request', expect: EXPECTS },
  {
    name: 'in bulk the field of one',
    bulk: true,
    ...(await multipart({})),
    status: 400,
    code: 'malformed-request',
    expect: EXPECTS,
  },
  {
    name: 'two files to /files',
    ...(await multipart({}, {})),
    status: 400,
    code: 'malformed-request',
    expect: { hint: /\/files\/bulk/ },
  },
  {
    name: 'a file that is a text field',
    ...(await multipart(['file', 'hello'])),
    status: 400,
    code: 'malformed-request',
    expect: { detail: /no file name/ },
  },
  {
    name: 'a form in which no file was chosen',
    ...(await multipart(NO_FILE, ['album', '7'])),
    status: 400,
    code: 'malformed-request',
    expect: { detail: 'No file was chosen', ...EXPECTS },
  },
  {
    name: 'a text field over 64 KiB',
    ...(await multipart({}, ['notes', 'a'.repeat(65_537)])),
    status: 413,
    code: 'body-too-large',
  },
  {
    name: 'a field without a name',
    ...handmade([...part('', 'filename="a"'), '--x--']),
    status: 400,
    code: 'malformed-request',
  },
  {
    name: 'a field of the prototype',
    ...(await multipart({ field: '__proto__' })),
    status: 400,
    code: 'malformed-request',
  },
  {
    name: 'metadata only',
    ...(await multipart(['metadata', '1'])),
    status: 400,
    code: 'malformed-request',
    expect: EXPECTS,
  },
  {
    name: 'two metadataFields',
    ...(await multipart({}, ['metadata', '1'], ['metadata', '2'])),
    status: 400,
    code: 'malformed-request',
  },
  {
    name: 'metadata that is no JSON',
    ...(await multipart({}, ['metadata', 'red'])),
    status: 400,
    code: 'malformed-json',
  },
  { name: 'empty metadata', ...(await multipart({}, ['metadata', ''])), status: 400, code: 'malformed-json' },
  {
    name: 'metadata with a key of the prototype',
    ...(await multipart({}, ['metadata', '{"__proto__":{}}'])),
    status: 400,
    code: 'unsupported-field-name',
  },
  {
    name: 'metadata with a number that would change',
    ...(await multipart({}, ['metadata', '9007199254740993'])),
    status: 400,
    code: 'unsupported-value',
  },
  {
    name: 'metadata of 8 KiB and a byte',
    ...(await multipart(['metadata', JSON.stringify('a'.repeat(8_191))], {})),
    status: 413,
    code: 'body-too-large',
  },
  { name: 'a file over the limit', ...(await multipart({ bytes: large.bytes })), status: 413, code: 'file-too-large' },
  {
    name: 'one of several over the limit',
    bulk: true,
    ...(await multipart(file, large, file)),
    status: 413,
    code: 'file-too-large',
  },
  {
    name: 'the last of several in another field',
    bulk: true,
    ...(await multipart(file, file, {})),
    status: 400,
    code: 'malformed-request',
  },
  {
    name: 'three metadataFields for two files',
    bulk: true,
    ...(await multipart(file, file, ['metadata', '1'], ['metadata', '2'], ['metadata', '3'])),
    status: 400,
    code: 'malformed-request',
  },
  {
    name: '21 files',
    bulk: true,
    ...(await multipart(...Array.from({ length: 21 }, () => file))),
    status: 413,
    code: 'too-many-parts',
  },
  {
    name: '21 fields metadata',
    bulk: true,
    ...(await multipart(file, ...Array.from({ length: 21 }, () => ['metadata', '1'] as const))),
    status: 413,
    code: 'too-many-parts',
  },
  {
    name: '101 parts',
    ...(await multipart({}, ...Array.from({ length: 100 }, (_, index) => [`field${index}`, '1'] as const))),
    status: 413,
    code: 'too-many-parts',
  },
  {
    name: '1,000 parts',
    bulk: true,
    ...(await multipart(...Array.from({ length: 1_000 }, () => file))),
    status: 413,
    code: 'too-many-parts',
  },
];

await runScenarios(
  t,
  app,
  ROWS.map(({ bulk, ...row }) => ({ ...row, request: bulk ? 'POST /files/bulk' : 'POST /files' })),
);

t.test('An idempotency key is rejected.', async (t) => {
  for (const url of ['/files', '/files/bulk']) {
    const { send, headers } = await multipart({ field: url === '/files' ? 'file' : 'files' });
    const keyed = { ...headers, 'idempotency-key': 'once' };
    const response = await app.inject({ method: 'POST', url, payload: send, headers: keyed });
    t.equal(response.statusCode, 400);
    t.match(response.json(), { code: 'malformed-request', detail: /Idempotency-Key/ });
  }
});

t.test('A compressed body of a file or of JSON is rejected.', async (t) => {
  const { send, headers } = await multipart({});
  for (const [url, type, body] of [
    ['/files', headers['content-type'], send],
    ['/api/compressed', 'application/json', Buffer.from('{"a":1}')],
  ] as const) {
    const as = (encoding: string) => ({ 'content-type': type, 'content-encoding': encoding });
    const response = await app.inject({ method: 'POST', url, payload: gzipSync(body), headers: as('gzip') });
    t.match(response.json(), { code: 'unsupported-media-type', detail: /'gzip'/ }, url);
    t.equal(response.headers['accept-encoding'], 'identity');
    const plain = await app.inject({ method: 'POST', url, payload: body, headers: as('identity') });
    t.ok(plain.statusCode < 300, `${url} ${plain.statusCode}`);
  }
  const [{ id }] = (await app.inject('/files')).json();
  await app.inject({ method: 'DELETE', url: `/files/${id}` });
});

t.test('A body without a type, and a missing body are rejected.', async (t) => {
  for (const payload of ['x', undefined]) {
    const response = await app.inject({ method: 'POST', url: '/files', ...(payload === undefined ? {} : { payload }) });
    t.equal(response.statusCode, 400);
    t.match(response.json(), { code: 'body-required', ...EXPECTS });
  }
});

t.test('Metadata of exactly 8 KiB and a file with an unknown type are accepted.', async (t) => {
  await runScenarios(t, app, [
    {
      name: 'at the limit',
      request: 'POST /files',
      ...(await multipart(['metadata', JSON.stringify('a'.repeat(8_190))], { type: 'x/y' })),
      status: 200,
    },
  ]);
  const [{ id }] = (await app.inject('/files')).json();
  await app.inject({ method: 'DELETE', url: `/files/${id}` });
});

t.test('Bodies without their closing boundary are rejected over a real connection.', async (t) => {
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const file = part('name="file"', '; filename="a"');
  const metadata = part('name="metadata"', '', '7');
  for (const [name, lines] of [
    ['after a file', file],
    ['after a file and its line break', [...file, '']],
    ['after a large file', part('name="file"', '; filename="a"', 'x'.repeat(90_000))],
    ['after a file and metadata', [...file, ...metadata]],
    ['after metadata', metadata],
  ] as const) {
    const { send, headers } = handmade(lines);
    const response = await fetch(`${base}/files`, { method: 'POST', headers, body: new Uint8Array(send) });
    t.match(await response.json(), { status: 400, code: 'malformed-request' }, name);
  }
});

t.test('Rejected uploads leave nothing.', async (t) => {
  t.same(await countAll(services), { documents: 0, heads: 0, chunks: 0, marks: 0 });
});
