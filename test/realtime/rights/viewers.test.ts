/** Events for administrators with the role `viewer` over a socket: everything except users and keys. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { ask, signInAdmin, signUp } from '../../helpers/users.ts';

t.test('a viewer gets no events of users and keys over a socket', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const [owner, viewer] = [await signInAdmin(app, services), await signInAdmin(app, services, ['viewer'])];
  const enter = async (token: string) => {
    const socket = await openSocket(t, url, { hello: { type: 'hello', token } });
    socket.send({ type: 'subscribe', id: 'all', events: ['*'] });
    await socket.frame({ type: 'live', id: 'all' });
    return socket;
  };
  const sockets = [await enter(owner.accessToken), await enter(viewer.accessToken)] as const;
  const typesOf = (frames: readonly Readonly<Record<string, unknown>>[]) =>
    frames.flatMap(({ event }) => (event as { type?: string } | undefined)?.type ?? []);

  const ada = await signUp(app, 'ada');
  await ask(app, `PATCH /admin/users/${ada.id}`, { roles: ['author'] }, owner);
  await ask(app, 'POST /auth/login', { username: 'ada', password: 'not the right one' });
  const key = (await ask(app, 'POST /admin/keys', { name: 'k' }, owner)).json();
  await ask(app, `DELETE /admin/keys/${key.id}`, undefined, owner);
  await ask(app, `DELETE /admin/users/${ada.id}`, undefined, owner);
  t.equal((await ask(app, 'POST /api/todos', { id: 'a' }, owner)).statusCode, 201);
  const reported = await Promise.all(
    sockets.map(async (socket) => {
      await socket.frame(({ event }) => (event as { type?: string } | undefined)?.type === 'todos.created');
      return new Set(typesOf(socket.of('all')));
    }),
  );

  const [toAdmin, toViewer] = reported;
  for (const type of ['user.created', 'user.updated', 'session.created', 'auth.failed', 'key.created', 'key.deleted']) {
    t.ok(toAdmin?.has(`system.${type}`), `an administrator receives system.${type}`);
  }
  t.strictSame(
    [...(toViewer ?? [])].filter((type) => /^system\.(user|session|auth|key)\./.test(type)),
    [],
  );

  sockets[1].send({ type: 'subscribe', id: 'accounts', events: ['system.user.*'] });
  t.match(await sockets[1].frame({ id: 'accounts' }), { type: 'unsubscribed', problem: { status: 403 } });
});
