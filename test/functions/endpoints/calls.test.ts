/** The input of an HTTP function, and the response for its result. */
import t from 'tap';
import { endpointFixture, reportOf, response, value } from '../../helpers/functions/endpoint-fixture.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';
import { until } from '../../helpers/until.ts';
import { signInAdmin } from '../../helpers/users.ts';

const fixture = await endpointFixture(t, { MILLRACE_CORS_ORIGINS: 'https://shop.example' });
const { app, registry, calls, parts } = fixture;
registry.setPlugins([
  pluginOf('shop', {
    total: { use: endpoint('POST,PUT,GET,DELETE /invoice/:id/total') },
    page: { use: endpoint('GET /page') },
    large: { use: { ...endpoint('POST /large'), largeNumbers: 'string' } },
    own: { use: { ...endpoint('POST /own'), authorization: 'own' } },
  }),
]);
const input = () => JSON.parse(calls.at(-1)?.input ?? 'null');

t.test('The input is the request without credentials.', async (t) => {
  const result = await app.inject({
    method: 'POST',
    url: '/fn/invoice/a%20b%2Fc/total?x=1&y=2&y=3&__proto__=z&e=',
    headers: {
      'x-api-key': 'k-1',
      cookie: 'a=b',
      'proxy-authorization': 'Basic eA==',
      'x-signature': 'abc',
      'content-type': 'application/json; charset=UTF-8',
    },
    payload: '{ "lines": [1, 2], "__proto__": {"a": 1} }',
  });
  t.equal(result.statusCode, 200, result.body);
  const seen = input();
  t.match(seen, {
    method: 'POST',
    path: '/invoice/a%20b%2Fc/total',
    params: { id: 'a b/c' },
    query: { x: '1', y: ['2', '3'], e: '' },
    headers: { 'x-signature': 'abc', 'content-type': 'application/json; charset=UTF-8' },
    body: { lines: [1, 2] },
    text: '{ "lines": [1, 2], "__proto__": {"a": 1} }',
  });
  t.ok(Object.hasOwn(seen.query, '__proto__') && Object.hasOwn(seen.body, '__proto__'));
  for (const name of ['x-api-key', 'cookie', 'authorization', 'proxy-authorization'])
    t.notOk(name in seen.headers, name);
  t.match(calls.at(-1), { run: { attempt: 1, depth: 0 }, within: null, mayWrite: true, caller: { kind: 'anonymous' } });
  t.match(calls.at(-1)?.run.id, /^run_[\w-]{22}$/);
});

t.test('Bodies are parsed by their media type.', async (t) => {
  const send = (type: string | null, payload: string | Buffer, method: 'POST' | 'PUT' | 'DELETE' = 'POST') =>
    app.inject({
      method,
      url: '/fn/invoice/1/total',
      payload,
      ...(type === null ? {} : { headers: { 'content-type': type } }),
    });
  const read: readonly (readonly [string, string, unknown])[] = [
    ['text/plain', 'häß', 'häß'],
    ['text/csv; charset=utf-8', 'a,b', 'a,b'],
    ['application/x-www-form-urlencoded', 'a=1&b=2&b=%C3%BC+x', { a: '1', b: ['2', 'ü x'] }],
    ['application/ld+json', '[1]', [1]],
    ['application/json', '"x"', 'x'],
  ];
  for (const [type, text, body] of read) {
    t.equal((await send(type, text)).statusCode, 200, type);
    t.strictSame([input().body, input().text], [body, text], type);
  }
  t.equal((await send('application/json', '')).statusCode, 200);
  t.strictSame([input().body, input().text], [null, null], 'no body');
  t.equal((await app.inject({ method: 'DELETE', url: '/fn/invoice/1/total' })).statusCode, 200);
  t.strictSame(input().body, null);

  const before = calls.length;
  const refused: readonly (readonly [string | null, string | Buffer, number, string])[] = [
    ['application/json', '{', 400, 'malformed-json'],
    ['application/json', '['.repeat(200_000) + ']'.repeat(200_000), 400, 'json-too-deep'],
    ['text/plain', Buffer.from([0xff, 0xfe]), 400, 'malformed-request'],
    ['multipart/form-data; boundary=x', '--x--', 415, 'unsupported-media-type'],
    ['application/octet-stream', 'x', 415, 'unsupported-media-type'],
    ['text/plain; charset=latin1', 'x', 415, 'unsupported-media-type'],
    ['text/plain', 'x'.repeat(1024 * 1024 + 1), 413, 'body-too-large'],
    [null, 'x', 415, 'unsupported-media-type'],
  ];
  for (const [type, payload, status, code] of refused) {
    const result = await send(type, payload);
    t.match(result.json(), { status, code }, `${type} ${code}`);
  }
  t.match((await send('text/plain', 'x'.repeat(1024 * 1024 + 1))).json().detail, /1048576/);
  t.equal(calls.length, before, 'nothing was called');
  t.equal((await send('text/plain', 'x'.repeat(1024 * 1024))).statusCode, 200, 'a megabyte is possible');
});

t.test(
  'A number that JavaScript cannot represent exactly is rejected, or passed as text if the manifest says so.',
  async (t) => {
    const send = (url: string, payload: string) =>
      app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json' } });
    const exact = '{"a":9007199254740992,"b":[0.1,1e22,"1234567890123456789"],"c\\"1234567890123456789":1}';
    const before = calls.length;
    for (const [number, pointer] of [
      ['1234567890123456789', '/x/1/y'],
      ['-9007199254740993', '/x/1/y'],
      ['1e400', '/x/1/y'],
    ]) {
      const payload = `{"x":[1,{"y":${number}}],"z":"${number}"}`;
      const refused = await send('/fn/invoice/1/total', payload);
      t.match(refused.json(), { status: 400, code: 'unsupported-value', errors: [{ pointer }] }, String(number));
      t.equal(calls.length, before, 'it is not called');
      t.equal((await send('/fn/large', payload)).statusCode, 200);
      t.strictSame(input().body, { x: [1, { y: number }], z: number });
      t.equal(input().text, payload);
      calls.pop();
    }
    for (const url of ['/fn/invoice/1/total', '/fn/large']) {
      t.equal((await send(url, exact)).statusCode, 200);
      t.strictSame(input().body, JSON.parse(exact), 'what is exact stays a number');
    }
  },
);

t.test('A byte order mark stays in the text that signatures cover, and is not part of the content.', async (t) => {
  for (const [type, text, body] of [
    ['application/json', '{"a":1}', { a: 1 }],
    ['text/csv', 'a,b', 'a,b'],
    ['application/x-www-form-urlencoded', 'a=1', { a: '1' }],
  ] as const) {
    const payload = Buffer.from(`\ufeff${text}`);
    const headers = { 'content-type': type };
    t.equal((await app.inject({ method: 'POST', url: '/fn/invoice/1/total', payload, headers })).statusCode, 200, type);
    t.strictSame([input().body, Buffer.from(input().text)], [body, payload], type);
  }
});

t.test(
  'An HTTP function with the option receives the header Authorization itself, and its callers are anonymous.',
  async (t) => {
    const send = (authorization: string) => app.inject({ method: 'POST', url: '/fn/own', headers: { authorization } });
    const logs = [{ at: new Date(), level: 'info', text: 'A run that logs is kept' }] as const;
    fixture.response(async () => reportOf(value('Basic dXNlcjpwYXNzd29yZC0x and password-1'), { logs }));
    for (const foreign of [
      'Basic dXNlcjpwYXNzd29yZC0x',
      'Bearer eyJ.of.google',
      'Bearer mr_unknown',
      'SharedAccess sig=x',
      'x',
    ]) {
      const result = await send(foreign);
      t.equal(result.statusCode, 200, `${foreign}: ${result.body}`);
      t.equal(input().headers.authorization, foreign);
      t.match(calls.at(-1)?.caller, { kind: 'anonymous' });
    }
    const boss = await signInAdmin(app, parts);
    t.equal((await send(boss.headers.authorization ?? '')).statusCode, 200);
    t.notOk('authorization' in input().headers, 'a credential of this server is given to no code');
    t.match(calls.at(-1)?.caller, { kind: 'anonymous' }, 'nor does it sign in');
    t.match((await app.inject({ url: '/fn/page', headers: { authorization: 'Basic eA==' } })).json(), { status: 401 });
    // Runs contain no credential, in no form that the code may use.
    const run = String((await send('Basic dXNlcjpwYXNzd29yZC0x')).headers['millrace-run']);
    await until(async () => (await fixture.store.find(run)) !== null, 'the run is stored');
    const kept = await fixture.store.find(run);
    t.notMatch(JSON.stringify(kept), /dXNlcjpwYXNzd29yZC0x|password-1/);
    t.match(kept?.input, /"authorization":"\[secret\]"/);
  },
);

t.test('HTTP functions match methods, paths and OPTIONS.', async (t) => {
  const missing = await app.inject('/fn/nothing');
  t.match(missing.json(), { status: 404, code: 'route-not-found' });
  t.match((await app.inject('/fn')).json(), { code: 'route-not-found' });
  t.match((await app.inject('/fn/')).json(), { code: 'route-not-found' });
  const wrong = await app.inject({ method: 'POST', url: '/fn/page' });
  t.match(wrong.json(), { status: 405, code: 'method-not-allowed' });
  t.equal(wrong.headers.allow, 'GET, HEAD, OPTIONS');
  const options = await app.inject({ method: 'OPTIONS', url: '/fn/page' });
  t.strictSame([options.statusCode, options.headers.allow, options.body], [204, 'GET, HEAD, OPTIONS', '']);
  t.match((await app.inject({ method: 'OPTIONS', url: '/fn/nothing' })).json(), { code: 'route-not-found' });
  fixture.response(async () => value({ a: 1 }));
  const head = await app.inject({ method: 'HEAD', url: '/fn/page' });
  t.strictSame([head.statusCode, head.body, head.headers['content-length']], [200, '', '7']);
  t.equal(input().method, 'GET');
  t.match((await app.inject('/fn/%E0%A4%A')).json(), { status: 400, code: 'malformed-request' });
});

t.test('Results of HTTP functions become responses.', async (t) => {
  fixture.response(async () => value({ sum: 3 }));
  const plain = await app.inject('/fn/page');
  t.equal(plain.headers['content-type'], 'application/json; charset=utf-8');
  t.strictSame(plain.json(), { sum: 3 });
  t.match(plain.headers['x-request-id'], /^req_/);

  fixture.response(async () => response(204));
  const empty = await app.inject('/fn/page');
  t.strictSame([empty.statusCode, empty.body, empty.headers['content-type']], [204, '', undefined]);

  fixture.response(async () =>
    response(418, { 'X-Tea': 'yes', 'cache-control': 'public, max-age=60', Vary: 'x-tea' }, 'short'),
  );
  const tea = await app.inject('/fn/page');
  t.strictSame([tea.statusCode, tea.body, tea.headers['x-tea']], [418, 'short', 'yes']);
  t.equal(tea.headers['content-type'], 'text/plain; charset=utf-8');
  t.equal(tea.headers['cache-control'], 'public, max-age=60');
  t.equal(tea.headers.vary, 'Authorization, Accept, Origin, Millrace-As, x-tea');

  fixture.response(async () => response(302, { location: 'https://example.org/' }));
  t.match(await app.inject('/fn/page'), { statusCode: 302, headers: { location: 'https://example.org/' } });
});

t.test('headers that would weaken the protection of the server are not sent', async (t) => {
  const own = (await app.inject('/healthz')).headers;
  const bad: Record<string, string> = {};
  for (const name of [
    ...[
      'Set-Cookie',
      'Content-Security-Policy',
      'X-Frame-Options',
      'X-Content-Type-Options',
      'Access-Control-Allow-Origin',
    ],
    ...['Access-Control-Allow-Credentials', 'Strict-Transport-Security', 'Clear-Site-Data', 'Service-Worker-Allowed'],
    ...['Accept-CH', 'Set-Login', 'Secure-Session-Registration', 'CDN-Cache-Control', 'Cloudflare-CDN-Cache-Control'],
    ...[
      'Connection',
      'Transfer-Encoding',
      'Keep-Alive',
      'Upgrade',
      'Content-Length',
      'X-Request-Id',
      'X-Accel-Redirect',
    ],
    ...[
      'Cross-Origin-Resource-Policy',
      'Referrer-Policy',
      'Content-Security-Policy-Report-Only',
      'Trailer',
      'Millrace-Run',
    ],
  ]) {
    bad[name] = 'planted';
  }
  fixture.response(async () =>
    response(200, { ...bad, 'content-type': 'text/html', 'x-kept': 'yes' }, '<script>alert(1)</script>'),
  );
  const { headers } = await app.inject('/fn/page');
  t.notMatch(JSON.stringify(headers), /planted/);
  t.equal(headers['x-kept'], 'yes');
  for (const name of ['x-frame-options', 'x-content-type-options', 'cross-origin-resource-policy', 'referrer-policy']) {
    t.equal(headers[name], own[name], name);
  }
  t.match(headers['content-security-policy'], /(^|; )sandbox$/);
  t.match(headers['content-security-policy'], /default-src 'none'/);
  t.notMatch(headers['content-security-policy'], /allow-scripts|script-src/);
});

t.test('An invalid response is a failure of the function.', async (t) => {
  const cases = [
    response(99),
    response(101),
    response(600),
    response(200.5),
    response(200, { 'bad name': 'x' }),
    response(200, { a: 'x\r\nset-cookie: y' }),
    response(200, { a: '😀' }),
    response(200, Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`h${n}`, 'x']))),
    response(200, { a: 'x'.repeat(9_000) }),
  ];
  for (const one of cases) {
    fixture.response(async () => one);
    const result = await app.inject('/fn/page');
    t.match(result.json(), { status: 500, code: 'function-failed' }, JSON.stringify(one).slice(0, 90));
    t.match(result.headers['millrace-run'], /^run_/, 'its run is stored');
  }
});

t.test('Pages of other origins can call HTTP functions as they can call the API.', async (t) => {
  fixture.response(async () => value(1));
  const requested = {
    origin: 'https://shop.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-a',
  };
  const preflight = await app.inject({ method: 'OPTIONS', url: '/fn/page', headers: requested });
  t.equal(preflight.statusCode, 204);
  t.equal(preflight.headers['access-control-allow-origin'], 'https://shop.example');
  const got = await app.inject({ url: '/fn/page', headers: { origin: 'https://shop.example' } });
  t.equal(got.headers['access-control-allow-origin'], 'https://shop.example');
  t.match(got.headers['access-control-expose-headers'], /Millrace-Run/);
});
