/**
 * Sockets opened by a ticket: messages sent at once are processed, and changes of the user do not end them without
 * need.
 */
import { connect } from 'node:net';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';
import { ask, signUp } from '../../helpers/users.ts';

t.test('sockets opened by a ticket', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ann = await signUp(app, 'ann');
  const { authenticator } = services.auth;
  const users = services.mongo.data.collection<{ _id: string }>('_users');
  let reported = 0;
  authenticator.onRevoked(() => reported++);
  const open = async () => {
    const response = await ask(app, 'POST /auth/ticket', undefined, ann);
    return await openSocket(t, url, { path: `/realtime?ticket=${response.json().ticket}`, hello: null });
  };
  const grant = async (role: string) => {
    const before = reported;
    await users.updateOne({ _id: ann.id }, { $set: { roles: [role] } });
    await until(() => reported > before, 'it is known everywhere');
  };

  await t.test('messages before the ticket is redeemed wait for that', async (t) => {
    const socket = await open();
    socket.send({ type: 'shout', id: 'x' });
    socket.send({ type: 'subscribe', id: 's', collection: 'todos' });
    await socket.frame({ type: 'live' });
    t.strictSame(
      socket.frames.slice(0, 3).map(({ type }) => type),
      ['welcome', 'error', 'subscribed'],
    );
  });

  await t.test('a socket continues with other rights and ends with its session', async (t) => {
    const socket = await open();
    await socket.frame({ type: 'welcome' });
    await grant('gardener');
    socket.send({ type: 'subscribe', id: 's', collection: 'todos' });
    await socket.frame({ type: 'live' });
    t.equal(socket.closed, null);
    await ask(app, 'POST /auth/logout', undefined, ann);
    t.equal((await socket.end()).code, 4401);
  });

  await t.test('a server failure allows the client to reconnect', async (t) => {
    const bob = await signUp(app, 'bob');
    const socket = await openSocket(t, url, { hello: { type: 'hello', token: bob.accessToken } });
    await socket.frame({ type: 'welcome' });
    authenticator.authenticate = () => Promise.reject(new Error('The database is away'));
    await users.updateOne({ _id: bob.id }, { $set: { roles: ['cook'] } });
    t.equal((await socket.end()).code, 4500);
  });
});

t.test('a stream whose client disconnected during authentication leaves nothing behind', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ann = await signUp(app, 'ann');
  const { authenticator } = services.auth;
  const found = await authenticator.authenticate(ann.headers.authorization);
  const held: (() => void)[] = [];
  authenticator.getCached = () => undefined;
  authenticator.authenticate = async () => {
    await new Promise<void>((resolve) => held.push(resolve));
    return found;
  };
  let closed = 0;
  app.server.on('connection', (line) => line.once('close', () => closed++));
  const line = connect(Number(new URL(url).port), '127.0.0.1');
  const { authorization } = ann.headers;
  line.write(
    `GET /api/todos HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: ${authorization}\r\n\r\n`,
  );
  await until(() => held.length === 1, 'its authentication has started');
  line.destroy();
  await until(() => closed > 0, 'the line has ended');
  for (const go of held) go();
  // By the time another request gets its response, everything queued has run.
  await app.inject('/api/todos');
  t.equal(services.realtime.connections, 0);
});
