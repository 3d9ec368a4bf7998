/** Reads responses of other servers: within bounds of time and size, and only valid ones. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { type CallLimits, Egress } from '../../src/egress/egress.ts';
import { EgressError } from '../../src/egress/egress-error.ts';
import { CERTIFICATE, KEY } from '../helpers/network/tls-proxy.ts';

t.test('a valid response arrives as with fetch', async (t) => {
  const { egress, url } = await serving(t, (request, response) => {
    response.writeHead(201, { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] });
    request.pipe(response);
  });
  const response = await egress.fetch(url, {
    method: 'POST',
    headers: { authorization: 'Bearer x' },
    body: JSON.stringify({ a: 1 }),
  });
  t.ok(response instanceof Response);
  t.equal(response.status, 201);
  t.strictSame(response.headers.getSetCookie(), ['a=1', 'b=2']);
  t.strictSame(await response.json(), { a: 1 });
});

t.test('a form is sent with its content type, and a request with a user agent', async (t) => {
  const seen: IncomingMessage[] = [];
  const { egress, url } = await serving(t, (request, response) => {
    seen.push(request);
    request.pipe(response);
  });
  const response = await egress.fetch(`${url}/token?x=1`, {
    method: 'POST',
    body: new URLSearchParams({ code: 'ä b' }),
  });
  t.equal(await response.text(), 'code=%C3%A4+b');
  t.match(seen[0], {
    url: '/token?x=1',
    headers: {
      'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
      'content-length': '13',
      'user-agent': 'Millrace',
      'accept-encoding': 'identity',
    },
  });
  await egress.fetch(url, { headers: { 'user-agent': 'Mine' } });
  t.match(seen[1], { method: 'GET', headers: { 'user-agent': 'Mine' } });
});

t.test('responses without a body', async (t) => {
  const { egress, url } = await serving(t, (request, response) => {
    response.writeHead(Number(request.url?.slice(1) || 200)).end();
  });
  for (const status of [200, 204, 205, 304, 404, 500]) {
    const response = await egress.fetch(`${url}/${status}`);
    t.strictSame([response.status, await response.text()], [status, '']);
  }
  t.equal((await egress.fetch(url, { method: 'HEAD' })).status, 200);
});

t.test('a redirect is returned or is an error, and is not followed', async (t) => {
  const requested: (string | undefined)[] = [];
  const { egress, url } = await serving(t, (request, response) => {
    requested.push(request.url);
    response.writeHead(Number(request.url?.slice(1)), { location: `/200` }).end('elsewhere');
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const response = await egress.fetch(`${url}/${status}`, { redirect: 'follow' });
    t.strictSame([response.status, response.headers.get('location')], [status, '/200']);
    t.equal(await kindOf(egress.fetch(`${url}/${status}`, { redirect: 'error' })), 'redirected');
  }
  t.notOk(requested.includes('/200'));
});

t.test('a response that is too slow ends at its time limit', async (t) => {
  const cases: Record<string, RequestListener> = {
    never: () => undefined,
    'headers and no body': (_, response) => response.writeHead(200, { 'content-length': '10' }).flushHeaders(),
    'byte by byte': (_, response) => drip(() => response.write('x')),
    'one header after the other': (_, { socket }) => {
      socket?.write('HTTP/1.1 200 OK\r\n');
      drip(() => socket?.write('x: y\r\n'));
    },
    'early hints without an end': (_, response) => drip(() => response.writeEarlyHints({ link: '</a>; rel=x' })),
  };
  const timers: NodeJS.Timeout[] = [];
  t.teardown(() => timers.forEach(clearInterval));
  function drip(step: () => void) {
    timers.push(setInterval(step, 20));
  }
  for (const [name, response] of Object.entries(cases)) {
    const { egress, url } = await serving(t, response);
    const began = performance.now();
    t.equal(await kindOf(egress.fetch(url, {}, { timeoutMs: 200 })), 'timeout', name);
    t.ok(performance.now() - began < 3_000, `${name}: in time`);
  }
});

t.test('a server that accepts the connection and sends nothing, over TLS', async (t) => {
  const { egress, port } = await raw(t, () => undefined);
  t.equal(await kindOf(egress.fetch(`https://127.0.0.1:${port}/`, {}, { timeoutMs: 200 })), 'timeout');
});

t.test('a name that never resolves ends at its timeout', async (t) => {
  const egress = new Egress({ mode: 'production', allow: [], lookup: () => new Promise(() => undefined) });
  t.teardown(() => egress.close());
  t.equal(await kindOf(egress.fetch('https://slow.example/', {}, { timeoutMs: 200 })), 'timeout');
});

t.test('a body that is too large is not read to its end', async (t) => {
  const size = 200 * 1024 ** 2;
  for (const reported of [true, false]) {
    let sent = 0;
    const { egress, url } = await serving(t, (_, response) => {
      if (reported) response.writeHead(200, { 'content-length': String(size) });
      const body = new Readable({
        read() {
          sent += 65_536;
          this.push(sent > size ? null : Buffer.alloc(65_536));
        },
      });
      pipeline(body, response, () => undefined);
    });
    t.equal(await kindOf(egress.fetch(url)), 'response-too-large', reported ? 'with its length' : 'in chunks');
    t.ok(sent < 32 * 1024 ** 2, `${sent} bytes had been sent`);
  }
  const { egress, url } = await serving(t, (_, response) => response.end('x'.repeat(101)));
  t.equal(await kindOf(egress.fetch(url, {}, { maxBytes: 100 })), 'response-too-large');
  t.equal((await (await egress.fetch(url, {}, { maxBytes: 101 })).text()).length, 101);
});

t.test('headers that are too large end the call', async (t) => {
  const lines = { many: 'x: y\r\n'.repeat(20_000), long: `x: ${'y'.repeat(100_000)}\r\n` };
  for (const [name, headers] of Object.entries(lines)) {
    const { egress, url } = await raw(t, (socket) => socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n`));
    t.equal(await kindOf(egress.fetch(url)), 'response-too-large', name);
  }
});

t.test('a response that is not plain HTTP is an error', async (t) => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  const cases: readonly (readonly [string, string, string])[] = [
    ['another protocol', 'SSH-2.0-OpenSSH_9.2p1\r\n', 'invalid-response'],
    ['noise', '\x00\x01\x02\xff\r\n\r\n', 'invalid-response'],
    ['a status of no meaning', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n', 'invalid-response'],
    ['two lengths', `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\nxx`, 'invalid-response'],
    ['a length and chunks', `${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\nx`, 'invalid-response'],
    ['a broken chunk', `${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`, 'invalid-response'],
    ['compressed', `${ok}content-encoding: gzip\r\ncontent-length: 1\r\n\r\nx`, 'invalid-response'],
    ['nothing', '', 'unreachable'],
    ['half an answer', `${ok}content-length: 10\r\n\r\nxxx`, 'unreachable'],
    ['half of the headers', `${ok}content-le`, 'unreachable'],
  ];
  for (const [name, text, kind] of cases) {
    const { egress, url } = await raw(t, (socket) => socket.end(text, 'latin1'));
    t.equal(await kindOf(egress.fetch(url)), kind, name);
  }
});

t.test('a response that comes compressed although that was not requested is decoded within the limit', async (t) => {
  const text = 'dressed and undressed '.repeat(500);
  const [bytes, bomb] = [Buffer.from(text), Buffer.alloc(2_000_001)];
  const encoded: Readonly<Record<string, { readonly name: string; readonly body: Buffer; readonly kind?: string }>> = {
    '/gzip': { name: 'gzip', body: gzipSync(bytes) },
    '/upper': { name: ' GZIP ', body: gzipSync(bytes) },
    '/x-gzip': { name: 'x-gzip', body: gzipSync(bytes) },
    '/members': { name: 'gzip', body: Buffer.concat([gzipSync(bytes.subarray(0, 99)), gzipSync(bytes.subarray(99))]) },
    '/deflate': { name: 'deflate', body: deflateSync(bytes) },
    '/raw': { name: 'deflate', body: deflateRawSync(bytes) },
    '/br': { name: 'br', body: brotliCompressSync(bytes) },
    '/zstd': { name: 'zstd', body: zstdCompressSync(bytes) },
    '/two': { name: 'gzip, br', body: brotliCompressSync(gzipSync(bytes)) },
    '/identity': { name: 'identity', body: bytes },
    '/three': { name: 'gzip, gzip, gzip', body: gzipSync(bytes), kind: 'invalid-response' },
    '/unknown': { name: 'compress', body: bytes, kind: 'invalid-response' },
    '/prototype': { name: 'constructor', body: bytes, kind: 'invalid-response' },
    '/cut': { name: 'gzip', body: gzipSync(bytes).subarray(0, -9), kind: 'invalid-response' },
    '/noise': { name: 'br', body: Buffer.alloc(999, 0xff), kind: 'invalid-response' },
    '/bomb': { name: 'gzip', body: gzipSync(bomb), kind: 'response-too-large' },
    '/bomb-br': { name: 'br', body: brotliCompressSync(bomb), kind: 'response-too-large' },
    '/bomb-two': { name: 'gzip, gzip', body: gzipSync(gzipSync(bomb)), kind: 'response-too-large' },
    '/long': { name: 'gzip', body: gzipSync(randomBytes(2_000_001)), kind: 'response-too-large' },
  };
  const { egress, url } = await serving(t, (request, response) => {
    const { name = '', body = '' } = encoded[request.url ?? ''] ?? {};
    response.writeHead(200, { 'content-encoding': name }).end(request.method === 'HEAD' ? undefined : body);
  });
  for (const [path, { kind }] of Object.entries(encoded)) {
    const call = egress.fetch(`${url}${path}`, {}, { maxBytes: 2_000_000 });
    if (kind !== undefined) t.equal(await kindOf(call), kind, path);
    else {
      const response = await call;
      t.equal(await response.text(), text, path);
      t.equal(response.headers.get('content-encoding'), null);
      t.equal(response.headers.get('content-length'), null);
    }
  }
  t.equal(await (await egress.fetch(`${url}/gzip`, { method: 'HEAD' })).text(), '', 'a response without content');
});

t.test('a server that does not exist', async (t) => {
  const { egress, url, server } = await raw(t, () => undefined);
  server.close();
  await once(server, 'close');
  t.equal(await kindOf(egress.fetch(url)), 'unreachable');
  t.equal(await kindOf(egress.fetch('https://no-such-name.invalid/')), 'unknown-host');
});

t.test('an untrusted certificate ends the call before anything is sent', async (t) => {
  let requested = 0;
  const server = createTlsServer({ key: KEY, cert: CERTIFICATE }, () => {
    requested += 1;
  });
  const { egress, port } = await started(t, server);
  t.equal(await kindOf(egress.fetch(`https://127.0.0.1:${port}/`)), 'untrusted');
  t.equal(requested, 0);
  const plain = await serving(t, (_, response) => response.end());
  t.equal(await kindOf(plain.egress.fetch(plain.url.replace('http:', 'https:'))), 'untrusted', 'http behind https');
});

t.test('the caller can abort a call, with its own reason', async (t) => {
  const { egress, url } = await serving(t, () => undefined);
  const reason = new Error('The browser went away');
  await t.rejects(egress.fetch(url, { signal: AbortSignal.abort(reason) }), reason);
  const controller = new AbortController();
  const call = egress.fetch(url, { signal: controller.signal });
  controller.abort(reason);
  await t.rejects(call, reason);
});

t.test('a server that hangs holds a bounded number of calls, and others are served', async (t) => {
  const slow = await serving(t, () => undefined);
  const other = await serving(t, (_, response) => response.end('served'));
  const limits: CallLimits = { timeoutMs: 1_000 };
  const calls = Array.from({ length: 40 }, () => kindOf(slow.egress.fetch(slow.url, {}, limits)));
  t.equal(await (await slow.egress.fetch(other.url)).text(), 'served');
  const kinds = Map.groupBy(await Promise.all(calls), (kind) => kind);
  t.strictSame([kinds.get('timeout')?.length, kinds.get('busy')?.length], [32, 8]);
  t.equal(await kindOf(slow.egress.fetch(slow.url, {}, { timeoutMs: 50 })), 'timeout', 'the places are free again');
});

t.test('the end of the program aborts calls in progress', async (t) => {
  const { egress, url } = await serving(t, () => undefined);
  const call = kindOf(egress.fetch(url));
  await egress.close();
  t.equal(await call, 'unreachable');
});

async function kindOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'answered';
  } catch (error) {
    if (!(error instanceof EgressError)) return String(error);
    return error.kind;
  }
}

function serving(t: Test, response: RequestListener) {
  return started(t, createServer(response));
}

/** A server that responds to each connection, once something is sent, without parsing HTTP. */
function raw(t: Test, response: (socket: Socket) => unknown) {
  return started(
    t,
    createSocketServer((socket) => socket.on('error', () => undefined).once('data', () => response(socket))),
  );
}

async function started(t: Test, server: Server) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const egress = new Egress({ mode: 'development', allow: [] });
  t.teardown(async () => {
    await egress.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { egress, port, url: `http://127.0.0.1:${port}`, server };
}
