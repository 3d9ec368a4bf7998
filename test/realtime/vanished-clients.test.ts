/** A client that vanishes in the middle of a large snapshot leaves no cursor behind in the database. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { until } from '../helpers/until.ts';

const CLIENTS = 3;

function frame(message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  return Buffer.concat([Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]), body]);
}

t.test('clients vanish in the middle of a snapshot', { timeout: 60_000 }, async (t) => {
  const { app, parts } = await buildTestApp(t);
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const text = randomBytes(20_000).toString('hex');
  await parts.mongo.data.collection('big').insertMany(Array.from({ length: 1_000 }, () => ({ text })));
  const open = async () => {
    const pipeline = [{ $currentOp: { idleCursors: true } }, { $match: { type: 'idleCursor' } }];
    const found = await parts.mongo.data.client.db('admin').aggregate(pipeline).toArray();
    return found.filter(({ ns }) => ns === `${parts.mongo.data.databaseName}.big`).length;
  };

  const lines: Socket[] = [];
  app.server.on('connection', (line) => lines.push(line));
  let waits = '';
  let alike = 0;
  /** Whether every client's line has been full for a while. */
  const stuck = () => {
    const now = lines.map(({ bytesWritten, writableLength }) => `${bytesWritten} ${writableLength}`).join();
    alike = now === waits ? alike + 1 : 0;
    waits = now;
    return alike > 20 && lines.every(({ writableLength }) => writableLength > 100_000);
  };

  const vanish: Socket[] = [];
  for (let n = 0; n < CLIENTS; n++) {
    const socket = connect(Number(port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    vanish.push(socket);
    const key = randomBytes(16).toString('base64');
    const headers = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    socket.write(`GET /realtime HTTP/1.1\r\n${headers.join('\r\n')}\r\nSec-WebSocket-Key: ${key}\r\n\r\n`);
    socket.write(frame({ type: 'hello' }));
    socket.write(frame({ type: 'subscribe', id: 's', collection: 'big' }));
    socket.once('data', () => socket.pause());
  }
  await until(() => lines.length === CLIENTS && stuck(), 'nothing can be written');
  t.equal(await open(), CLIENTS, 'each has a cursor open');
  for (const socket of vanish) socket.resetAndDestroy();
  await until(async () => (await open()) === 0, 'no cursor is open');
});
