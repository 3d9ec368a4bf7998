/** A command that is sent while its connection is being closed comes back. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import t from 'tap';
import { openMongo } from '../../src/database/mongo.ts';
import { testMongo } from '../helpers/mongo.ts';
import { breakable } from '../helpers/network/breakable.ts';
import { until } from '../helpers/until.ts';

/** Called with each socket that this process opens. */
const CHANNEL = 'net.client.socket';

t.test('a command that is sent between the end and the close of a socket', async (t) => {
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
  const mongo = await openMongo({ url: address.href, database });
  t.teardown(() => mongo.close());

  let [sent, back, between] = [0, 0, 0];
  const send = () => {
    sent += 1;
    const come = () => void (back += 1);
    mongo.data.command({ ping: 1 }).then(come, come);
  };
  const ours = sockets.filter(({ remotePort }) => remotePort === line.port);
  for (const socket of ours) {
    let isClosed = false;
    socket.once('close', () => {
      isClosed = true;
    });
    socket.once('end', () =>
      setImmediate(() => {
        if (socket.destroyed && !isClosed) between += 1;
        send();
      }),
    );
  }
  line.cut();
  line.mend();
  await until(() => sent === ours.length, 'all connections have ended');
  t.ok(between > 0, `${between} of ${sent} were sent between the end and the close of a socket`);
  await until(() => back === sent, 'all commands have come back');
});
