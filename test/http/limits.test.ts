/** What the server rejects before it parses a request, over real sockets. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { until } from '../helpers/until.ts';

t.test('a request while the server closes gets a problem document', async (t) => {
  const { app } = await buildTestApp(t);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  let got = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    got += chunk;
  });
  const arrived = once(app.server, 'request');
  socket.write(
    'POST /api/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n',
  );
  await arrived;
  const closed = app.close();
  await until(() => !app.server.listening, 'it closes');
  const origin = 'http://localhost:5173';
  socket.write(`{}GET /api/x HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\n\r\n`);
  await Promise.all([closed, once(socket, 'close')]);
  const [, second = ''] = got.split(/(?=HTTP\/1\.1 503)/);
  t.match(got, /^HTTP\/1\.1 201 /, 'a running request gets its response');
  t.match(second, /^HTTP\/1\.1 503 .*application\/problem\+json.*"code":"shutting-down"/s);
  t.match(second, /^retry-after: 1\r$/im);
  t.match(second, new RegExp(`^access-control-allow-origin: ${origin}\r$`, 'im'), 'pages may read it');
});

t.test('limits of the socket', async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_HEADER_TIMEOUT_MS: '1000',
    MILLRACE_BODY_TIMEOUT_MS: '300',
    MILLRACE_MAX_CONNECTIONS_PER_IP: '5',
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  await t.test('input that is not HTTP is rejected', async (t) => {
    t.match(await say(port, 'hello\r\n\r\n'), /^HTTP\/1\.1 400 .*malformed-request/s);
  });

  await t.test('headers over 16 KiB are rejected', async (t) => {
    const text = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Big: ${'x'.repeat(20_000)}\r\n\r\n`;
    t.match(await say(port, text), /^HTTP\/1\.1 431 .*headers-too-large/s);
  });

  await t.test('headers that never end are rejected', async (t) => {
    t.match(await say(port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'), /^HTTP\/1\.1 408 .*request-timeout/s);
  });

  await t.test('a body that never ends closes the connection', async (t) => {
    const head =
      'POST /api/slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":';
    t.equal(await say(port, head), '');
    t.equal((await app.inject('/api/slow')).statusCode, 404, 'nothing was stored');
  });

  await t.test('a client that disconnects in the middle of its body is not a server error', async (t) => {
    const lines: string[] = [];
    const logging = await buildApp(services, pino({ level: 'error' }, { write: (line: string) => lines.push(line) }));
    t.teardown(() => logging.close());
    await logging.listen({ host: '127.0.0.1', port: 0 });
    const other = logging.server.address();
    const head =
      'POST /api/cut HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
    const socket = connect(typeof other === 'object' && other !== null ? other.port : 0, '127.0.0.1');
    socket.write(head);
    const [, response] = await once(logging.server, 'request');
    socket.destroy();
    await once(response, 'close');
    await pause(100);
    t.equal(response.statusCode, 400);
    t.strictSame(lines, []);
  });

  await t.test('a body with a Content-Length over the limit is rejected before it is read', async (t) => {
    const head =
      'POST /api/big HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n';
    t.match(await say(port, head), /^HTTP\/1\.1 413 .*body-too-large.*more than \d+ bytes.*MILLRACE_MAX_BODY_BYTES/s);
  });

  await t.test(
    'the hint of a 413 names the setting only where it defines the limit, also where both are equal',
    async (t) => {
      const form = 'application/x-www-form-urlencoded';
      for (const [path, type, most] of [
        ['/auth/providers/x/callback', form, 65_536],
        ['/auth/saml/x/acs', form, 1_048_576],
        ['/fn/x', 'application/json', 1_048_576],
      ] as const) {
        const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${most + 1}\r\n\r\n`;
        const response = await say(port, head);
        t.match(response, new RegExp(`^HTTP/1\\.1 413 .*more than ${most} bytes`, 's'), path);
        t.notMatch(response, 'MILLRACE_MAX_BODY_BYTES', path);
      }
    },
  );

  await t.test('of ten connections of one IP address five are closed at once, and five work', async (t) => {
    const request = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const sockets = Array.from({ length: 10 }, () => listenTo(connect(port, '127.0.0.1')));
    let closed = 0;
    await new Promise<void>((resolve) => {
      for (const { ended } of sockets) void ended.then(() => ++closed === 5 && resolve());
    });
    for (const { socket } of sockets) if (socket.writable) socket.write(request);
    const responses = await Promise.all(sockets.map(({ ended }) => ended));
    t.equal(responses.filter((response) => response.startsWith('HTTP/1.1 200')).length, 5);
    t.equal(responses.filter((response) => response === '').length, 5);
  });
});

t.test('a trusted proxy has many clients, and as many connections', async (t) => {
  for (const [proxies, open] of [
    ['loopback', 6],
    ['127.0.0.0/8', 6],
    ['1', 6],
    ['0', 2],
    ['10.0.0.0/8, ::1', 2],
  ] as const) {
    const { app } = await buildTestApp(t, { MILLRACE_MAX_CONNECTIONS_PER_IP: '2', MILLRACE_TRUST_PROXY: proxies });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const request = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const sockets = Array.from({ length: 6 }, () => connect(port, '127.0.0.1'));
    // Each gets a response or is closed; those with a response stay open meanwhile.
    const response = await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<boolean>((resolve) => {
            socket.once('data', () => resolve(true)).once('close', () => resolve(false));
            socket.on('error', () => undefined).write(request);
          }),
      ),
    );
    for (const socket of sockets) socket.destroy();
    t.equal(response.filter(Boolean).length, open, proxies);
  }
});

t.test('production without an administrator rejects requests without credentials', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_RATE_LIMIT_ANONYMOUS: '3' });
  for (const url of ['/api/todos', '/api/todos/a', '/api/no-such']) {
    const response = await app.inject(url);
    t.equal(response.statusCode, 401);
    t.match(response.json(), { code: 'not-authenticated' });
    t.match(response.headers['www-authenticate'], /^Bearer/);
  }
  const refused = await app.inject('/api/todos');
  t.equal(refused.statusCode, 429);
  t.match(refused.json(), { code: 'rate-limited' });
  t.match(refused.headers, { 'retry-after': /^\d+$/, ratelimit: /^"requests";r=0;t=\d+$/ });
  t.equal((await app.inject('/healthz')).statusCode, 200, 'health is open and has no limit');
  const origin = await app.inject({ url: '/healthz', headers: { origin: 'http://localhost:5173' } });
  t.notOk(origin.headers['access-control-allow-origin'], 'loopback origins are for development');
});

t.test('bad tickets of an IP address have a limit', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_RATE_LIMIT_ANONYMOUS: '3' });
  const status = async (n: number) => {
    const url = `/api/posts?ticket=${String(n).padStart(43, 'x')}`;
    return (await app.inject({ url, headers: { accept: 'text/event-stream' } })).statusCode;
  };
  const statuses = [await status(1), await status(2), await status(3), await status(4)];
  t.strictSame(statuses, [401, 401, 401, 429]);
});

t.test('an IPv6 network counts as one client', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_RATE_LIMIT_ANONYMOUS: '2' });
  for (const headers of [{}, { authorization: 'Bearer bad' }]) {
    const status = async (remoteAddress: string) =>
      (await app.inject({ url: '/api/posts', remoteAddress, headers })).statusCode;
    const statuses = [await status('2001:db8::1'), await status('2001:db8::2'), await status('2001:db8::3:3')];
    t.strictSame(statuses, [401, 401, 429]);
    t.equal(await status('2001:db8:0:1::1'), 401, 'another network has its own');
  }
});

t.test('the port that a proxy appends to a forwarded IP address is not part of the client', async (t) => {
  const testDatabase = await testMongo(t);
  const clientAt = async (proxies: string) => {
    const { app } = await buildTestApp(t, { MILLRACE_TRUST_PROXY: proxies }, testDatabase);
    return async (forwarded: string): Promise<string> => {
      const headers = { 'x-forwarded-for': forwarded };
      return (await app.inject({ url: '/admin/settings/effective', headers })).json().request.ip;
    };
  };
  const clientOf = await clientAt('loopback, uniquelocal');
  for (const [forwarded, address] of [
    ['203.0.113.7:51234', '203.0.113.7'],
    ['  203.0.113.7:1 ', '203.0.113.7'],
    ['"203.0.113.7:8080"', '203.0.113.7'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['"[2001:db8::1]:443"', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:db8:0:0:0:0:0:1:51234', '2001:db8:0:0:0:0:0:1'],
    ['2001:db8::1%eth0', '2001:db8::1'],
    ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
    ['::ffff:203.0.113.7:443', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['198.51.100.1:1, 203.0.113.7:51234 , 10.0.0.5:443,[fd00::1]:8080', '203.0.113.7'],
    ['198.51.100.1:1,,203.0.113.7:2,', '203.0.113.7'],
    ['203.0.113.7, unknown', '127.0.0.1'],
    ['203.0.113.7, 10.0.0.5:x', '127.0.0.1'],
    ['198.51.100.1, unknown, 10.0.0.5:443', '10.0.0.5'],
    ['_hidden', '127.0.0.1'],
    [',', '127.0.0.1'],
  ] as const) {
    t.equal(await clientOf(forwarded), address, forwarded);
  }
  t.equal(await (await clientAt('2'))('198.51.100.1:1, 203.0.113.7:51234, 10.0.0.5:443'), '203.0.113.7', 'two hops');
  t.equal(
    await (await clientAt('0'))('203.0.113.7:51234'),
    '127.0.0.1',
    'without a trusted proxy the header is ignored',
  );
});

t.test('a client behind a proxy that appends ports has one rate, for any number of connections', async (t) => {
  const { app } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_RATE_LIMIT_ANONYMOUS: '2',
    MILLRACE_TRUST_PROXY: '127.0.0.1',
  });
  const status = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/api/posts', headers })).statusCode;
  for (const address of ['203.0.113.7', '[2001:db8::1]']) {
    const from = (port: number) => status({ 'x-forwarded-for': `${address}:${port}` });
    t.strictSame([await from(1), await from(2), await from(3)], [401, 401, 429], address);
  }
  await status({ forwarded: 'for=198.51.100.9' });
  await status({ 'x-real-ip': '198.51.100.10' });
  t.equal(await status({ 'x-client-ip': '198.51.100.11' }), 429, 'other headers are ignored: all count as the proxy');
});

/** Sends text and returns everything received until the connection ends. */
function say(port: number, text: string): Promise<string> {
  const { socket, ended } = listenTo(connect(port, '127.0.0.1'));
  socket.write(text);
  return ended;
}

/** Collects what a socket receives until it is closed. A close may appear as a reset, which is not a failure here. */
function listenTo(socket: Socket): { readonly socket: Socket; readonly ended: Promise<string> } {
  let response = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    response += String(chunk);
  });
  return { socket, ended: new Promise((resolve) => socket.once('close', () => resolve(response))) };
}
