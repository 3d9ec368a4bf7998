/** Posts: calls for deliveries, with their own bounds and little overhead. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Egress, type EgressOptions } from '../../src/egress/egress.ts';
import { EgressError } from '../../src/egress/egress-error.ts';
import { until } from '../helpers/until.ts';

const REQUEST = { headers: { 'content-type': 'text/plain' }, body: 'Grüße', timeoutMs: 5_000, maxBytes: 100 };

t.test('a post sends its body, and gets the beginning of the response', async (t) => {
  const { egress, url } = await serving(t, (request, response) => {
    response.writeHead(201, { 'x-seen': `${request.method} ${request.url} ${request.headers['content-length']}` });
    request.pipe(response);
  });
  const response = await egress.post(`${url}/a?b=c`, REQUEST);
  t.match(response, { status: 201, headers: { 'x-seen': 'POST /a?b=c 7' } });
  t.equal(response.body.toString(), 'Grüße');
});

t.test('the body of a response without an end is read up to the bound', async (t) => {
  let closed = false;
  const { egress, url } = await serving(t, (_, response) => {
    const timer = setInterval(() => response.write('x'.repeat(60)), 5);
    response.once('close', () => {
      clearInterval(timer);
      closed = true;
    });
  });
  t.equal((await egress.post(url, REQUEST)).body.toString(), 'x'.repeat(100));
  await until(() => closed, 'the connection is closed');
});

t.test('posts keep connections, and return redirects', async (t) => {
  const { egress, url, connections } = await serving(t, (_, response) =>
    response.writeHead(302, { location: url }).end(),
  );
  for (let n = 0; n < 5; n++) t.equal((await egress.post(url, REQUEST)).status, 302);
  // The first one is free again a moment after its response.
  t.ok(connections() <= 2, `${connections()} connections`);
});

t.test('a post with a response that does not end stops at the timeout', async (t) => {
  const { egress, url } = await serving(t, (_, response) => response.writeHead(200).write('x'));
  t.equal(await kindOf(egress.post(url, { ...REQUEST, timeoutMs: 200 })), 'timeout');
});

t.test('a post that waited for its connection until the timeout is not sent afterwards', async (t) => {
  let requested = 0;
  const found = Promise.withResolvers<{ address: string; family: number }[]>();
  const { egress, port, connections } = await serving(
    t,
    (_, response) => {
      requested += 1;
      response.end();
    },
    { lookup: () => found.promise },
  );
  t.equal(await kindOf(egress.post(`http://slow.example:${port}/`, { ...REQUEST, timeoutMs: 100 })), 'timeout');
  found.resolve([{ address: '127.0.0.1', family: 4 }]);
  await until(() => connections() === 1, 'the connection is made all the same');
  t.equal((await egress.post(`http://slow.example:${port}/`, REQUEST)).status, 200);
  t.equal(requested, 1, 'only the second one has arrived');
});

t.test('a server that occupies all connections of posts blocks no other call', async (t) => {
  const { egress, url } = await serving(t, (request, response) => {
    if (request.method === 'GET') response.end('here');
  });
  const posts = Array.from({ length: 850 }, () => kindOf(egress.post(url, { ...REQUEST, timeoutMs: 2_000 })));
  t.equal(await (await egress.fetch(url)).text(), 'here');
  const kinds = Map.groupBy(await Promise.all(posts), (kind) => kind);
  t.strictSame([kinds.get('timeout')?.length, kinds.get('busy')?.length], [768, 82]);
});

t.test('a URL that must not be called', async (t) => {
  const { egress, port } = await serving(t, (_, response) => response.end(), { mode: 'production' });
  t.equal(await kindOf(egress.post(`http://127.0.0.1:${port}/`, REQUEST)), 'blocked-url');
});

async function kindOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'answered';
  } catch (error) {
    return error instanceof EgressError ? error.kind : String(error);
  }
}

async function serving(t: Test, response: RequestListener, options: Partial<EgressOptions> = {}) {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer(response);
  server.on('connection', (socket: Socket) => {
    count += 1;
    sockets.add(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const egress = new Egress({ mode: 'development', allow: [], ...options });
  t.teardown(async () => {
    await egress.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port');
  return { egress, port: address.port, url: `http://127.0.0.1:${address.port}`, connections: () => count };
}
