/**
 * Connections that are kept for the next call: servers close them at any time, which must not look like a failed call.
 * The servers here are bare sockets, because Node's own server closes only idle ones.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setImmediate as isFree } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Egress } from '../../src/egress/egress.ts';
import { EgressError } from '../../src/egress/egress-error.ts';
import { until } from '../helpers/until.ts';

const RESPONSE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const POST = { headers: {}, body: 'x', timeoutMs: 5_000, maxBytes: 100 };

/** Gets each request with its number on its connection, which is 1 for the first. */
type Serve = (socket: Socket, number: number) => void;

async function serving(t: Test, serve: Serve, host = '127.0.0.1') {
  const seen = { connections: 0, requests: 0 };
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    seen.connections += 1;
    sockets.add(socket);
    let number = 0;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      if (!/^(GET|POST) /.test(chunk.toString())) return;
      seen.requests += 1;
      serve(socket, ++number);
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  const egress = new Egress({ mode: 'development', allow: [] });
  t.teardown(async () => {
    await egress.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port');
  return { egress, seen, port: address.port, url: `http://127.0.0.1:${address.port}/`, sockets };
}

async function kindOf(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => 'answered',
    (error: unknown) => (error instanceof EgressError ? error.kind : String(error)),
  );
}

const CLOSINGS: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['closes', (socket) => void socket.end()],
  ['resets', (socket) => void socket.resetAndDestroy()],
];

for (const [how, close] of CLOSINGS) {
  t.test(
    `a request is retried on a new connection when the server ${how} the kept one instead of responding`,
    async (t) => {
      const { egress, seen, url } = await serving(t, (socket, number) => {
        if (number === 1) socket.write(RESPONSE);
        else close(socket);
      });
      for (let n = 1; n <= 5; n += 1) {
        t.equal((await egress.post(url, POST)).status, 200);
        t.equal(await (await egress.fetch(url, { method: 'POST', body: new Uint8Array([1, 2]) })).text(), 'ok');
      }
      // Of each kind the first one opens a connection, and every other one meets the closing one or opens its own.
      t.ok(seen.requests > 10, `${seen.requests} requests`);
    },
  );

  t.test(`a request on a new connection is not retried when the server ${how} it`, async (t) => {
    const { egress, seen, url } = await serving(t, close);
    t.equal(await kindOf(egress.post(url, POST)), 'unreachable');
    t.equal(await kindOf(egress.fetch(url)), 'unreachable');
    t.equal(seen.requests, 2);
  });
}

t.test('a request is not retried after the first byte of a response', async (t) => {
  const { egress, seen, url } = await serving(t, (socket, number) => {
    if (number === 1) socket.write(RESPONSE);
    else socket.end('HTTP/1.1 2');
  });
  t.equal((await egress.post(url, POST)).status, 200);
  await isFree();
  t.not(await kindOf(egress.post(url, POST)), 'answered');
  t.equal(seen.requests, 2);
});

t.test('a request is retried only once', async (t) => {
  const { egress, seen, url } = await serving(t, (socket) => {
    if (seen.requests === 1) socket.write(RESPONSE);
    else socket.end();
  });
  t.equal((await egress.post(url, POST)).status, 200);
  await isFree();
  t.equal(await kindOf(egress.post(url, POST)), 'unreachable');
  t.equal(seen.requests, 3);
});

t.test('a receiver that closes after each response without announcing it gets each post once', async (t) => {
  const { egress, seen, url } = await serving(t, (socket) => void socket.end(RESPONSE));
  for (let n = 0; n < 60; n += 1) t.equal((await egress.post(url, POST)).status, 200);
  t.equal(seen.requests, 60);
});

t.test('a connection is kept for no longer than a second without a call', async (t) => {
  const { egress, seen, url, sockets } = await serving(t, (socket) => void socket.write(RESPONSE));
  await egress.post(url, POST);
  const begun = performance.now();
  await until(() => [...sockets].every(({ readableEnded, destroyed }) => readableEnded || destroyed), 'it is closed');
  t.ok(performance.now() - begun < 1_900, 'before servers that wait two seconds close it');
  t.equal(seen.connections, 1);
});

t.test('localhost and the names below it reach a receiver that listens on one of both IP addresses', async (t) => {
  for (const host of ['127.0.0.1', '::1']) {
    const { egress, port } = await serving(t, (socket) => void socket.write(RESPONSE), host);
    for (const name of ['localhost', 'hooks.localhost']) {
      t.equal((await egress.post(`http://${name}:${port}/`, POST)).status, 200, `${name} at ${host}`);
      t.equal(await (await egress.fetch(`http://${name}:${port}/`)).text(), 'ok', `${name} at ${host}`);
    }
  }
});

t.test('in production localhost may be called at the allowed IP address, and no other', async (t) => {
  const { port } = await serving(t, (socket) => void socket.write(RESPONSE), '::1');
  for (const [allow, kind] of [
    ['::1', 'answered'],
    ['127.0.0.1', 'unreachable'],
  ] as const) {
    const egress = new Egress({ mode: 'production', allow: [allow] });
    t.teardown(() => egress.close());
    t.equal(egress.checkUrl(`http://localhost:${port}/`), null);
    t.equal(await kindOf(egress.post(`http://localhost:${port}/`, POST)), kind);
  }
});
