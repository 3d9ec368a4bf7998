/**
 * Clients on slow connections that keep reading are not treated as dead; those that have stopped reading are
 * disconnected.
 */
import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { SocketClient } from '../../../src/realtime/client/socket-client.ts';
import { SendQueue, type WritableConnection } from '../../../src/realtime/wire/send-queue.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { unbounded } from '../../helpers/unbounded.ts';
import { until } from '../../helpers/until.ts';

const HEARTBEAT_MS = 200;
const LONG_MS = HEARTBEAT_MS * 5;

/** A connection that accepts everything at once, or nothing. */
class Line implements WritableConnection {
  writableLength = 0;
  writable = true;
  written: string[] = [];
  #drain: () => void = () => {};
  cork(): void {}
  uncork(): void {}
  write(chunk: Buffer): boolean {
    this.written.push(chunk.toString());
    this.writableLength += this.takes ? 0 : chunk.length;
    return this.takes;
  }
  on(_event: 'drain', listener: () => void): void {
    this.#drain = listener;
  }
  takes = true;
  letGo(): void {
    this.takes = true;
    this.writableLength = 0;
    this.#drain();
  }
}

t.test('slow connections stay open, stalled ones are closed', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: String(HEARTBEAT_MS) });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const common = services.realtime.deps;
  const PONG = Buffer.from('{"type":"pong"}');

  function connect() {
    const line = new Line();
    let code: number | null = null;
    const socket = { close: (with_: number) => (code = with_), terminate: () => {} };
    const connection = new SocketClient(common, new SendQueue(line, common.flushScheduler, unbounded()), socket);
    connection.welcome({ kind: 'anonymous' }, null);
    return { line, connection, code: () => code };
  }

  await t.test('a client that receives messages all the time gets pings', async (t) => {
    const { line, connection, code } = connect();
    const begun = performance.now();
    let pings = 0;
    for (; pings < 3 && code() === null; await pause(5)) {
      // Heard before the next tick, however long this process was delayed in between.
      const requested = line.written.filter((text) => text.includes('"ping"')).length;
      if (requested > pings) connection.handleMessage(PONG, false);
      pings = requested;
      connection.queue.push(Buffer.from('part of a long snapshot'));
      connection.tick(performance.now());
    }
    t.equal(code(), null, 'and not given up');
    t.ok(pings <= 1 + (performance.now() - begun) / HEARTBEAT_MS, `${pings} pings`);
    connection.handleDisconnect();
  });

  await t.test('a client that does not respond to a ping is disconnected', async (t) => {
    const { connection, code } = connect();
    const request = () => {
      connection.queue.push(Buffer.from('part of a long snapshot'));
      connection.tick(performance.now());
      return code() !== null;
    };
    await until(request, 'it is given up');
    t.equal(code(), 4510);
    connection.handleDisconnect();
  });

  await t.test('a client with many bytes on their way can respond only after they have arrived', async (t) => {
    const { line, connection, code } = connect();
    await until(() => line.written.length > 0, 'it is welcome');
    line.takes = false;
    connection.queue.push(Buffer.alloc(2_000_000));
    await until(() => connection.queue.isFull, 'the line is full');
    for (const end = performance.now() + LONG_MS; performance.now() < end; await pause(5)) {
      connection.tick(performance.now());
    }
    t.equal(code(), null, 'its silence does not count');
    line.letGo();
    connection.tick(performance.now());
    t.equal(code(), null, 'and starts when it has');
    connection.handleDisconnect();
  });

  await t.test('clients that have stopped reading are disconnected with everything queued for them', async (t) => {
    const text = randomBytes(500_000).toString('hex');
    await services.mongo.data.collection('big').insertMany(Array.from({ length: 30 }, () => ({ text })));
    const before = services.realtime.connections;
    const socket = await openSocket(t, url);
    await socket.frame({ type: 'welcome' });
    const both = await new Promise((resolve, reject) => {
      const request = get(`${url}/api/big`, { headers: { accept: 'text/event-stream' } }, (response) => {
        response.pause();
        resolve(services.realtime.connections);
      });
      t.teardown(() => request.destroy());
      request.on('error', reject);
    });
    t.equal(both, before + 2, 'both are there');
    socket.socket.pause();
    socket.send({ type: 'subscribe', id: 's', collection: 'big' });
    await until(() => services.realtime.connections === before, 'both are closed');
  });
});
