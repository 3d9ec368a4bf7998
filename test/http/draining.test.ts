/** Responses and connections when the server closes. */
import '../../src/fastify-types.ts';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import pino from 'pino';
import t, { type Test } from 'tap';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { excludeFromOpenApi } from '../../src/openapi/operation.ts';
import { createServices } from '../../src/services.ts';
import { testMongo } from '../helpers/mongo.ts';

const BYTES = 16_000_000;

async function listening(t: Test) {
  const { url, database } = await testMongo(t);
  const services = await createServices(loadConfig({ MILLRACE_DB: database }), url);
  const app = await buildApp(services, pino({ level: 'silent' }));
  t.teardown(async () => {
    await app.close();
    await services.close();
  });
  const begun = Promise.withResolvers<void>();
  const response = Promise.withResolvers<void>();
  const config = excludeFromOpenApi('Routes of this test');
  app.get('/large', { config }, async () => 'x'.repeat(BYTES));
  app.get('/late', { config }, async () => {
    begun.resolve();
    await response.promise;
    return 'late';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address: AddressInfo | string | null = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { app, port, begun: begun.promise, response: response.resolve };
}

async function request(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return socket;
}

async function bytesOf(socket: Socket): Promise<number> {
  let count = 0;
  for await (const bytes of socket) count += bytes.length;
  return count;
}

t.test('a response that a slow client has not read yet is sent completely', async (t) => {
  const { app, port } = await listening(t);
  const socket = await request(port, '/large');
  // What exceeds the operating system's buffer waits in the server.
  await once(socket, 'readable');
  const closed = app.close();
  t.ok((await bytesOf(socket)) > BYTES);
  await closed;
});

t.test('a connection ends after its pending response, whatever the client prefers', async (t) => {
  const { app, port, begun, response } = await listening(t);
  const socket = await request(port, '/late');
  await begun;
  const closed = app.close();
  response();
  t.ok((await bytesOf(socket)) > 4);
  await closed;
  t.pass('and the server does not wait for it');
});

t.test('a connection without a request is closed at once', async (t) => {
  const { app, port } = await listening(t);
  const socket = connect(port, '127.0.0.1');
  await once(app.server, 'connection');
  const closed = app.close();
  t.equal(await bytesOf(socket), 0);
  await closed;
});
