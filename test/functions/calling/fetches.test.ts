/**
 * Fetches of functions against listening sockets: only hosts of the manifest, only addresses that egress allows, no redirects, no
 * credentials of the server, and aborted with the call.
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import t, { type Test } from 'tap';
import { callsFixture, refusal, returned } from '../../helpers/functions/calls.ts';
import { until } from '../../helpers/until.ts';

/** A server that counts its connections. */
async function listening(t: Test, result: RequestListener) {
  const seen: IncomingMessage[] = [];
  const state = { connections: 0, closed: 0 };
  const server = createServer((request, response) => {
    seen.push(request);
    result(request, response);
  });
  server.on('connection', (socket) => {
    state.connections += 1;
    socket.once('close', () => (state.closed += 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, seen, state };
}

t.test('Fetches to allowed hosts return their responses.', async (t) => {
  const { port, seen } = await listening(t, (request, response) => {
    if (request.url === '/redirect') return void response.writeHead(302, { location: '/other' }).end();
    if (request.url === '/large') return void response.end(Buffer.alloc(6 * 1_048_576));
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.writeHead(201, { 'x-got': request.method ?? '' }).end(Buffer.concat([Buffer.from([0, 255]), ...chunks]));
    });
  });
  const { call } = await callsFixture(t, { MILLRACE_MODE: 'production', MILLRACE_EGRESS_ALLOW: '127.0.0.1/32' });
  const plugin = { fetchHosts: [`127.0.0.1:${port}`] };
  const base = `http://127.0.0.1:${port}`;
  const report = await call(
    async ({ request }) => {
      const response = await request('fetch', {
        url: `${base}/a?q=1`,
        method: 'post',
        headers: { 'X-Own': 'y' },
        text: 'h\u00e9',
      });
      t.match(response, { status: 201, headers: { 'x-got': 'POST', 'set-cookie': 'a=1\nb=2' } });
      t.strictSame(
        Buffer.from(response.base64, 'base64'),
        Buffer.concat([Buffer.from([0, 255]), Buffer.from('h\u00e9')]),
      );
      const bytes = await request('fetch', {
        url: base,
        method: 'PUT',
        base64: Buffer.from([1, 2]).toString('base64'),
      });
      t.strictSame(Buffer.from(bytes.base64, 'base64'), Buffer.from([0, 255, 1, 2]));
      const moved = await request('fetch', { url: `${base}/redirect` });
      t.match(moved, { status: 302, headers: { location: '/other' } }, 'a redirect is given back');
      t.equal(await refusal(request('fetch', { url: `${base}/large` })), 'fetch-failed', 'more than 5 MB');
      t.equal(await refusal(request('fetch', { url: base, text: 'x' })), 'malformed-request', 'a GET has no body');
      t.equal(await refusal(request('fetch', { url: base, method: 'TRACE' })), 'fetch-not-allowed');
      for (const name of ['Host', 'connection', 'Transfer-Encoding', 'proxy-authorization'])
        t.equal(await refusal(request('fetch', { url: base, headers: { [name]: 'x' } })), 'fetch-not-allowed', name);
      t.equal(await refusal(request('fetch', { url: base })), 'function-limits-exceeded', 'more than ten');
      return 'done';
    },
    { plugin },
  );
  t.equal(returned(report), 'done');
  const [first] = seen;
  t.match(first, {
    method: 'POST',
    url: '/a?q=1',
    headers: { 'x-own': 'y', authorization: undefined, cookie: undefined },
  });
  t.notOk(
    seen.some(({ url }) => url === '/other'),
    'and not followed',
  );
  t.match(report.operations[0], { operation: 'fetch', target: `127.0.0.1:${port}`, error: null });
});

t.test('no other spelling and no other host is called', async (t) => {
  const { port, state } = await listening(t, (_, response) => void response.end('reached'));
  const spellings = [
    ...['127.0.0.1', 'localhost', 'LOCALHOST', '127.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.0.0.1.', '[::1]'],
    ...[
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      'user@127.0.0.1',
      'user:pass@127.0.0.1',
      'a.localhost',
      '0',
      '0.0.0.0',
    ],
    ...[
      'api.example.com@127.0.0.1',
      'api.example.com%2f@127.0.0.1',
      'api.example.com#@127.0.0.1',
      '\u2460\u2461\u2466.1',
    ],
  ];
  const urls = spellings.flatMap((host) => [`http://${host}:${port}/`, `https://${host}:${port}/`]);
  const odd = [
    '',
    'file:///etc/passwd',
    'data:text/plain,x',
    'ftp://127.0.0.1/',
    `ws://127.0.0.1:${port}`,
    '//127.0.0.1',
    '/x',
  ];
  const tried = async (
    call: Awaited<ReturnType<typeof callsFixture>>['call'],
    plugin: { fetchHosts: string[] },
    all: string[],
  ) => {
    for (const url of all) {
      const report = await call(({ request }) => refusal(request('fetch', { url })), { plugin });
      t.match(returned(report), /^(?:fetch-not-allowed|fetch-failed)$/, url);
    }
  };
  await t.test('The host list blocks fetches that egress allows.', async () => {
    const { call } = await callsFixture(t, { MILLRACE_MODE: 'development' });
    const fetchHosts = ['api.example.com', '*.example.org:8443', `127.0.0.1:${port + 1}`, `*.0.0.1:${port}`];
    await tried(call, { fetchHosts }, [...urls.filter((url) => !/\/(127\.0\.0\.1):/.test(url)), ...odd]);
    await tried(call, { fetchHosts: [] }, [`http://127.0.0.1:${port}/`]);
  });
  await t.test('Egress blocks fetches that the host list allows.', async () => {
    const { call } = await callsFixture(t, { MILLRACE_MODE: 'production' });
    const names = ['127.0.0.1', 'localhost', 'a.localhost', '0.0.0.0', '[::1]', '[::ffff:7f00:1]'];
    await tried(call, { fetchHosts: names.map((name) => `${name}:${port}`) }, urls);
  });
  t.equal(state.connections, 0);
});

t.test('A fetch ends with its call and at its timeout.', async (t) => {
  const { port, state, seen } = await listening(t, () => undefined);
  const { call } = await callsFixture(t, { MILLRACE_MODE: 'development' });
  const plugin = { fetchHosts: [`127.0.0.1:${port}`] };
  const url = `http://127.0.0.1:${port}`;
  const late = await call(({ request }) => refusal(request('fetch', { url, timeoutMs: 50 })), { plugin });
  t.equal(returned(late), 'fetch-failed');
  const limited = await call(({ request }) => refusal(request('fetch', { url, timeoutMs: 60_000 })), {
    plugin,
    fn: { timeoutMs: 50 },
  });
  t.equal(returned(limited), 'fetch-failed', 'never longer than the function may take');
  const report = await call(
    async ({ request }) => {
      const left = seen.length;
      request('fetch', { url }).catch(() => undefined);
      await until(() => seen.length > left, 'the request arrives');
      return 'not waited for';
    },
    { plugin },
  );
  t.equal(returned(report), 'not waited for');
  t.match(report.operations, [{ operation: 'fetch', error: 'function-limits-exceeded' }]);
  await until(() => state.closed === state.connections, 'the connections are closed');
});

t.test('A host that accepts no connection does not extend a call.', async (t) => {
  const server = createSocketServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { call } = await callsFixture(t, { MILLRACE_MODE: 'development' });
  server.close();
  const plugin = { fetchHosts: [`127.0.0.1:${port}`] };
  const report = await call(({ request }) => refusal(request('fetch', { url: `http://127.0.0.1:${port}` })), {
    plugin,
  });
  t.equal(returned(report), 'fetch-failed');
});
