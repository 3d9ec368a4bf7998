/** Commands that are sent while the server closes their connection return. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { MongoNetworkError } from 'mongodb';
import t from 'tap';
import { connectMongo } from '../../src/database/mongo.ts';
import { testMongo } from '../helpers/mongo.ts';
import { breakable } from '../helpers/network/breakable.ts';
import { until } from '../helpers/until.ts';

/** Called with each socket that this process opens. */
const CHANNEL = 'net.client.socket';
/**
 * Moments after the end of a socket: when it still accepts writes, and when it is destroyed, but has not emitted
 * `close`.
 */
const MOMENTS = { 'is ending': process.nextTick, 'has ended and not yet closed': setImmediate } as const;

for (const [state, later] of Object.entries(MOMENTS)) {
  t.test(`commands on a connection whose socket ${state} return`, async (t) => {
    const { url, database } = await testMongo(t);
    const address = new URL(url);
    const line = await breakable(t, Number(address.port));
    address.port = String(line.port);
    address.searchParams.delete('replicaSet');
    address.searchParams.set('directConnection', 'true');
    const sockets: Socket[] = [];
    const opened = (message: unknown) => {
      const { socket } = message as { socket: unknown };
      if (socket instanceof Socket) sockets.push(socket);
    };
    subscribe(CHANNEL, opened);
    t.teardown(() => unsubscribe(CHANNEL, opened));
    const mongo = await connectMongo({ url: address.href, database });
    t.teardown(() => mongo.close());

    const closed = new Set<Socket>();
    const issues: unknown[] = [];
    let [reads, responses, between] = [0, 0, 0];
    const send = (socket: Socket) => {
      if (!closed.has(socket)) between += 1;
      reads += 1;
      // The driver retries a read, but not a plain command.
      const reading = mongo.data.collection('todos').findOne();
      reading.then(() => (responses += 1)).catch((error: unknown) => issues.push(error));
      mongo.data.command({ ping: 1 }).catch((error: unknown) => issues.push(error));
    };
    const ours = sockets.filter(({ remotePort }) => remotePort === line.port);
    for (const socket of ours) {
      socket.once('close', () => closed.add(socket));
      socket.once('end', () => later(() => send(socket)));
    }
    line.cut();
    line.fix();
    await until(() => closed.size === ours.length, 'all connections are closed');
    t.ok(between > 0, 'some commands were sent before the close event');
    await until(() => responses === reads, 'all reads return');
    t.ok(issues.length > 0, 'some plain commands met it');
    for (const issue of issues) t.type(issue, MongoNetworkError);
  });
}
