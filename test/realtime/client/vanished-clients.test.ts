/**
 * A client that stops in the middle of a large snapshot, or vanishes there, leaves no cursor behind in the database.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

const CLIENTS = 3;

function frame(message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  return Buffer.concat([Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]), body]);
}

t.test('clients that do not read a large snapshot leave no cursor', { timeout: 60_000 }, async (t) => {
  const { app, services } = await buildTestApp(t);
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const text = randomBytes(20_000).toString('hex');
  await services.mongo.data.collection('big').insertMany(Array.from({ length: 1_000 }, () => ({ text })));
  const open = async () => {
    const pipeline = [{ $currentOp: { idleCursors: true } }, { $match: { type: 'idleCursor' } }];
    const found = await services.mongo.data.client.db('admin').aggregate(pipeline).toArray();
    return found.filter(({ ns }) => ns === `${services.mongo.data.databaseName}.big`).length;
  };

  const lines: Socket[] = [];
  app.server.on('connection', (line) => lines.push(line));
  let waits = '';
  let alike = 0;
  /** Whether every client's connection has been full for a while. */
  const stuck = () => {
    const now = lines.map(({ bytesWritten, writableLength }) => `${bytesWritten} ${writableLength}`).join();
    alike = now === waits ? alike + 1 : 0;
    waits = now;
    return alike > 20 && lines.every(({ writableLength }) => writableLength > 100_000);
  };

  /** Clients that have read the beginning of a snapshot and read no more. */
  async function clients(t: Test): Promise<readonly Socket[]> {
    lines.length = 0;
    alike = 0;
    const sockets = Array.from({ length: CLIENTS }, () => connect(Number(port), '127.0.0.1'));
    for (const socket of sockets) {
      t.teardown(() => socket.destroy());
      const key = randomBytes(16).toString('base64');
      const headers = ['Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
      socket.write(`GET /realtime HTTP/1.1\r\n${headers.join('\r\n')}\r\nSec-WebSocket-Key: ${key}\r\n\r\n`);
      socket.write(frame({ type: 'hello' }));
      socket.write(frame({ type: 'subscribe', id: 's', collection: 'big' }));
      socket.once('data', () => socket.pause());
    }
    await until(() => lines.length === CLIENTS && stuck(), 'nothing can be written');
    t.equal(await open(), CLIENTS, 'each has a cursor open');
    return sockets;
  }

  await t.test('clients that vanish leave no cursor', async (t) => {
    for (const socket of await clients(t)) socket.resetAndDestroy();
    await until(async () => (await open()) === 0, 'no cursor is open');
  });

  await t.test('clients that unsubscribe and do not read leave no cursor', async (t) => {
    for (const socket of await clients(t)) socket.write(frame({ type: 'unsubscribe', id: 's' }));
    await until(async () => (await open()) === 0, 'no cursor is open');
    t.ok(
      lines.every(({ writableLength }) => writableLength > 100_000),
      'what was written still waits for them',
    );
  });

  await t.test('clients whose rights change leave no cursor', async (t) => {
    await clients(t);
    withPolicies(services, []);
    await until(async () => (await open()) === 0, 'no cursor is open');
  });
});
