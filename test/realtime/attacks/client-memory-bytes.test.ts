/**
 * The memory of realtime is counted for each client: beyond the limit there is a named error, and nothing is left in
 * the end.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';
import { signUp } from '../../helpers/users.ts';

const EACH = 200_000;

t.test('memory of realtime clients is limited and released', { timeout: 120_000 }, async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MAX_MEMORY_BYTES_PER_CLIENT: String(EACH) });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { budget } = services.realtime.deps;
  const nothing = () => until(() => budget.total === 0, 'nothing is held any more');
  const ann = await signUp(app, 'ann');
  const neighbour = async () => {
    const socket = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
    socket.send({ type: 'subscribe', id: 'n', collection: 'posts', query: { sort: 'n', limit: 3 } });
    await socket.frame({ type: 'live' });
    return socket;
  };
  await services.mongo.data
    .collection<object>('posts')
    .insertMany([1, 2, 3, 4].map((n) => ({ n, key: 'k'.repeat(1_000) })));

  await t.test(
    'a subscription beyond the memory limit is rejected as retryable, and the others continue',
    async (t) => {
      const honest = await neighbour();
      const socket = await openSocket(t, url);
      let count = 0;
      while (!socket.frames.some(({ type }) => type === 'unsubscribed')) {
        const id = `s${count++}`;
        socket.send({ type: 'subscribe', id, collection: 'posts', query: { filter: { n: { $lt: 100 + count } } } });
        // Messages that wait for a slow database would count as well, until the connection itself is closed.
        await socket.frame((frame) => frame['id'] === id && ['live', 'unsubscribed'].includes(frame.type));
      }
      t.match(await socket.frame({ type: 'unsubscribed' }), {
        retryable: true,
        problem: { status: 429, code: 'client-memory-exceeded' },
      });
      t.ok(count > 10 && count < 60, `${count} subscriptions`);
      t.equal(socket.closed, null);
      await app.inject({ method: 'POST', url: '/api/posts', payload: { id: 'new', n: 0 } });
      t.match(await socket.frame({ type: 'change', id: 's0' }), { op: 'enter' });
      t.match(await honest.frame({ type: 'change' }), { op: 'leave' });
      socket.socket.terminate();
      honest.socket.terminate();
      await nothing();
    },
  );

  await t.test('sockets and streams of the network are limited, but not those of others', async (t) => {
    const sockets = [];
    for (;;) {
      const socket = await openSocket(t, url);
      await until(() => socket.frames.some(({ type }) => type === 'welcome') || socket.closed !== null, 'a response');
      if (socket.closed !== null) break;
      sockets.push(socket);
    }
    t.equal((await openSocket(t, url).then((socket) => socket.end())).code, 4503);
    t.equal(sockets.length, Math.floor((EACH - 5_000) / 16_384), 'as many as there is memory for');
    const headers = { accept: 'text/event-stream' };
    const response = await fetch(`${url}/api/posts`, { headers });
    t.equal(response.status, 429);
    t.match(await response.json(), { code: 'client-memory-exceeded' });
    for (const socket of sockets) socket.socket.terminate();
    await nothing();
  });

  await t.test(
    'a window whose sort values exceed the limit restarts, is rejected, and others keep theirs',
    async (t) => {
      const honest = await neighbour();
      const socket = await openSocket(t, url);
      socket.send({ type: 'subscribe', id: 'w', collection: 'posts', query: { sort: 'key', limit: 3 } });
      await socket.frame({ type: 'live' });
      t.ok(budget.of('127.0.0.1') > 4 * 2_000, 'its values are counted');
      await app.inject({ method: 'POST', url: '/api/posts', payload: { id: 'long', n: 9, key: 'a'.repeat(150_000) } });
      t.match(await socket.frame({ type: 'reset' }), { reason: 'window' });
      t.match(await socket.frame({ type: 'unsubscribed' }), { problem: { code: 'client-memory-exceeded' } });
      await app.inject({ method: 'PATCH', url: '/api/posts/new', payload: { n: -1 } });
      t.match(await honest.frame({ type: 'change' }), { op: 'update', documentId: 'new' });
      t.notOk(honest.frames.some(({ type }) => type === 'reset'));
      honest.socket.terminate();
      socket.socket.terminate();
      await nothing();
    },
  );

  await t.test('the client whose memory pays for a shared window can leave', async (t) => {
    const [first, second] = [await openSocket(t, url), await neighbour()];
    first.send({ type: 'subscribe', id: 'n', collection: 'posts', query: { sort: 'n', limit: 3 } });
    await first.frame({ type: 'live' });
    t.equal(services.realtime.deps.hub.groups, 1);
    const before = budget.of('127.0.0.1');
    second.send({ type: 'unsubscribe', id: 'n' });
    await second.frame({ type: 'unsubscribed' });
    t.ok(budget.of('127.0.0.1') > before + 1_000, 'the other one pays for it');
    await app.inject({ method: 'PATCH', url: '/api/posts/new', payload: { n: -2 } });
    t.match(await first.frame({ type: 'change' }), { documentId: 'new' });
    first.socket.terminate();
    second.socket.terminate();
    await nothing();
  });
});
