/** What becomes of answers and connections when the server closes. */
import '../../src/fastify.ts';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import pino from 'pino';
import t, { type Test } from 'tap';
import { buildApp } from '../../src/app.ts';
import { outsideContract } from '../../src/contract/operation.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { makeParts } from '../../src/parts.ts';
import { testMongo } from '../helpers/mongo.ts';

const BYTES = 16_000_000;

async function listening(t: Test) {
  const { url, database } = await testMongo(t);
  const parts = await makeParts(loadConfig({ MILLRACE_DB: database }), url);
  const app = await buildApp(parts, pino({ level: 'silent' }));
  t.teardown(async () => {
    await app.close();
    await parts.close();
  });
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const config = outsideContract('Routes of this test');
  app.get('/large', { config }, async () => 'x'.repeat(BYTES));
  app.get('/late', { config }, async () => {
    begun.resolve();
    await answer.promise;
    return 'late';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address: AddressInfo | string | null = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { app, port, begun: begun.promise, answer: answer.resolve };
}

async function ask(port: number, path: string): Promise<Socket> {
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

t.test('an answer that a slow client has not taken yet is given whole', async (t) => {
  const { app, port } = await listening(t);
  const socket = await ask(port, '/large');
  // More than the operating system holds for it waits in the server.
  await once(socket, 'readable');
  const closed = app.close();
  t.ok((await bytesOf(socket)) > BYTES);
  await closed;
});

t.test('a connection ends with the answer that was under way, whatever its client would like', async (t) => {
  const { app, port, begun, answer } = await listening(t);
  const socket = await ask(port, '/late');
  await begun;
  const closed = app.close();
  answer();
  t.ok((await bytesOf(socket)) > 4);
  await closed;
  t.pass('and the server does not wait for it');
});

t.test('a connection that never asked for anything is closed at once', async (t) => {
  const { app, port } = await listening(t);
  const socket = connect(port, '127.0.0.1');
  await once(app.server, 'connection');
  const closed = app.close();
  t.equal(await bytesOf(socket), 0);
  await closed;
});
