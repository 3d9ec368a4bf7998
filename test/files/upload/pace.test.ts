/** Slow uploads are aborted, slow servers are not blamed on the client, and a rejected client receives the response. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { enforceMinimumRate } from '../../../src/files/upload/min-rate.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { streamUpload } from '../../helpers/files/stream-upload.ts';
import { countAll } from '../../helpers/files/upload.ts';

t.test('a stalled body is cut off within two windows', async (t) => {
  const { body, client } = await halfRequest(t);
  body.resume();
  client.write('x');
  enforceMinimumRate(body, 50, 1_000);
  const [error] = await once(body, 'error');
  t.match(error, { code: 'request-timeout' });
  await closed(client);
});

t.test('A body that is fast enough survives, and so does one that the server does not read.', async (t) => {
  const { body, client } = await halfRequest(t);
  const stop = enforceMinimumRate(body, 50, 1_000);
  body.on('error', () => undefined);
  client.write(Buffer.alloc(50_000));
  while (body.readableLength === 0) await new Promise(setImmediate);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(body.errored, null, 'unread for four windows');
  stop();
  client.destroy();
});

t.test('A client that is still sending receives the error response.', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MAX_FILE_BYTES: '1000' });
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  for (const size of [1_001, 1_000_000, 20_000_000]) {
    const response = await streamUpload(base, { seed: 1, size });
    t.equal(response?.status, 413, `${size} bytes`);
    t.match(response?.body, /file-too-large/);
  }
  t.same(await countAll(services), { documents: 0, heads: 0, chunks: 0, marks: 0 });
});

t.test('a client that keeps sending after a rejection is cut off', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MAX_FILE_BYTES: '1000' });
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  const client = connect(Number(new URL(base).port), '127.0.0.1');
  client.on('error', () => undefined).resume();
  client.write(
    'POST /files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000000\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n' +
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n',
  );
  const chunk = Buffer.alloc(1_048_576);
  const more = () => {
    while (client.writable && client.write(chunk));
  };
  client.on('drain', more);
  more();
  await closed(client);
  t.ok(client.bytesWritten < 400_000_000, `after ${client.bytesWritten} bytes`);
});

/** A request whose body has started and not ended. */
async function halfRequest(t: Test): Promise<{ readonly body: IncomingMessage; readonly client: Socket }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('There is no port');
  const client = connect(address.port, '127.0.0.1');
  client.on('error', () => undefined);
  client.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n');
  const [body] = await once(server, 'request');
  return { body, client };
}

function closed(socket: Socket): Promise<unknown> {
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', resolve));
}
