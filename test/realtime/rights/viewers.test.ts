/** What owners with the role `viewer` are told over a socket: all that is built, and nothing of accounts and keys. */
import t from 'tap';
import { ask, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';

t.test('a viewer is told no events of accounts and keys over a socket', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const [owner, viewer] = [await signInOwner(app, parts), await signInOwner(app, parts, ['viewer'])];
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
  const told = await Promise.all(
    sockets.map(async (socket) => {
      await socket.frame(({ event }) => (event as { type?: string } | undefined)?.type === 'todos.created');
      return new Set(typesOf(socket.of('all')));
    }),
  );

  const [toOwner, toViewer] = told;
  for (const type of ['user.created', 'user.updated', 'session.created', 'auth.failed', 'key.created', 'key.deleted']) {
    t.ok(toOwner?.has(`system.${type}`), `an owner is told of system.${type}`);
  }
  t.strictSame(
    [...(toViewer ?? [])].filter((type) => /^system\.(user|session|auth|key)\./.test(type)),
    [],
  );

  sockets[1].send({ type: 'subscribe', id: 'accounts', events: ['system.user.*'] });
  t.match(await sockets[1].frame({ id: 'accounts' }), { type: 'unsubscribed', problem: { status: 403 } });
});
