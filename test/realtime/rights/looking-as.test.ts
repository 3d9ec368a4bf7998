/**
 * Live data as another principal: a subscription shows what that one would get, follows its rights, and ends with them or
 * with the right of the owner to look. Random policies are in test/policies/as/property.test.ts.
 */
import t from 'tap';
import { ask, PASSWORD, signIn, signInOwner } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { openStream } from '../../helpers/live/event-stream.ts';
import { type Frame, openSocket } from '../../helpers/live/socket.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

const NOBODY = { by: null, request: null };
const MINE = {
  collections: ['posts'],
  actions: ['read'],
  where: { author: '$user.id' },
  fields: { read: ['*', '-secret'] },
};
const EDITORS = { collections: ['posts'], actions: ['read'], principals: { roles: ['editor'] } };
const TEAM = { collections: ['posts'], actions: ['read'], where: { team: '$user.claims.team' } };

t.test('live data as another principal', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_RATE_PRINCIPAL: '100000' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = await signInOwner(app, parts);
  const account = async (username: string, more: object = {}) => {
    const roles: readonly string[] = [];
    await parts.auth.users.create({ kind: 'user', username, password: PASSWORD, roles, ...more }, NOBODY);
    return signIn(app, username);
  };
  const ann = await account('ann');
  await ask(
    app,
    'POST /api/posts',
    [
      { id: 'a', author: ann.id, title: 'A', secret: 1, team: 'red' },
      { id: 'b', author: 'bob', title: 'B', secret: 2, team: 'blue' },
    ],
    boss,
  );
  const change = (id: string, members: object) => ask(app, `PATCH /api/posts/${id}`, members, boss);
  const enter = (who = boss) => openSocket(t, url, { hello: { type: 'hello', token: who.accessToken } });
  const idsOf = (frame: Frame) => (frame['documents'] as { id: string }[]).map(({ id }) => id);
  const fails = async (socket: Awaited<ReturnType<typeof enter>>, id: string, code: string) =>
    t.match(await socket.frame({ id, type: 'unsubscribed' }), { problem: { code }, retryable: false }, `${id} ${code}`);
  withPolicies(parts, [MINE, EDITORS, TEAM]);

  await t.test('documents and events of that principal, beside those of the owner', async (t) => {
    const socket = await enter();
    const own = await enter(ann);
    socket.send({ type: 'subscribe', id: 'mine', collection: 'posts' });
    socket.send({ type: 'subscribe', id: 'hers', collection: 'posts', as: `user:${ann.id}` });
    socket.send({ type: 'subscribe', id: 'events', events: ['posts.*'], as: `user:${ann.id}` });
    socket.send({ type: 'subscribe', id: 'editor', collection: 'posts', as: 'role:editor' });
    own.send({ type: 'subscribe', id: 'hers', collection: 'posts' });
    own.send({ type: 'subscribe', id: 'events', events: ['posts.*'] });
    for (const id of ['mine', 'hers', 'events', 'editor']) await socket.frame({ type: 'live', id });
    for (const id of ['hers', 'events']) await own.frame({ type: 'live', id });
    t.strictSame(idsOf(await socket.frame({ type: 'snapshot', id: 'mine' })), ['a', 'b']);
    t.strictSame(idsOf(await socket.frame({ type: 'snapshot', id: 'hers' })), ['a']);
    t.strictSame(idsOf(await socket.frame({ type: 'snapshot', id: 'editor' })), ['a', 'b']);
    await change('b', { title: 'B2' });
    await change('a', { secret: 3 });
    await change('a', { title: 'A2' });
    for (const one of [socket, own]) {
      await one.frame({ type: 'change', id: 'hers' });
      await one.frame(({ id, event }) => id === 'events' && Object(event).data?.title === 'A2');
    }
    const plain = (frames: Frame[]) =>
      frames.flatMap(({ type, documents, document, event }) =>
        ['snapshot', 'change', 'event'].includes(type) ? [{ type, documents, document, event }] : [],
      );
    for (const id of ['hers', 'events']) t.strictSame(plain(socket.of(id)), plain(own.of(id)), id);
    t.notMatch(JSON.stringify([...socket.of('hers'), ...socket.of('events')]), /secret"?:|"B2"/);
    t.match(await socket.frame(({ id, document }) => id === 'mine' && Object(document).secret === 3), {});
  });

  await t.test('what is refused, and why', async (t) => {
    const socket = await enter();
    for (const as of ['', 'nobody', 'user:', 7, 'owner:x']) {
      const id = `bad ${as}`;
      socket.send({ type: 'subscribe', id, collection: 'posts', as });
      await fails(socket, id, 'invalid-parameter');
    }
    for (const as of ['user:nobody', 'key:nobody']) {
      socket.send({ type: 'subscribe', id: as, collection: 'posts', as });
      await fails(socket, as, 'document-not-found');
    }
    socket.send({ type: 'subscribe', id: 'stranger', collection: 'posts', as: 'anonymous' });
    await fails(socket, 'stranger', 'not-authenticated');
    socket.send({ type: 'subscribe', id: 'system', events: ['system.*'], as: `user:${ann.id}` });
    await fails(socket, 'system', 'forbidden');
    const viewer = await signInOwner(app, parts, ['viewer']);
    for (const [who, code] of [
      [ann, 'forbidden'],
      [viewer, 'forbidden'],
    ] as const) {
      const other = await enter(who);
      other.send({ type: 'subscribe', id: 's', collection: 'posts', as: `user:${ann.id}` });
      await fails(other, 's', code);
    }
    const stranger = await openSocket(t, url);
    stranger.send({ type: 'subscribe', id: 's', collection: 'posts', as: 'role:editor' });
    await fails(stranger, 's', 'not-authenticated');
    t.equal((await fetch(`${url}/realtime`, { headers: { ...boss.headers, 'millrace-as': 'anonymous' } })).status, 403);
    t.equal(socket.closed, null);
  });

  await t.test('it follows roles, claims and policies of that principal', async (t) => {
    const rick = await account('rick', { roles: ['editor'] });
    const socket = await enter();
    const stream = await openStream(t, `${url}/api/posts`, { ...boss.headers, 'millrace-as': `user:${rick.id}` });
    socket.send({ type: 'subscribe', id: 'p', collection: 'posts', as: `user:${rick.id}` });
    socket.send({ type: 'subscribe', id: 'mine', collection: 'posts' });
    await socket.frame({ type: 'live', id: 'p' });
    await stream.event('live');
    const both = async (op: string, documentId: string) => {
      const frame = await socket.frame({ id: 'p', op, documentId });
      await stream.event('change', ({ data }) => data['op'] === op && data['documentId'] === documentId);
      return frame;
    };
    await ask(app, `PATCH /admin/users/${rick.id}`, { roles: [], claims: { team: 'blue' } }, boss);
    await both('leave', 'a');
    t.equal(socket.of('p').filter(({ op }) => op === 'leave').length, 1, 'his team sees the other one');
    withPolicies(parts, [MINE, EDITORS, { ...TEAM, fields: { read: ['title'] } }]);
    t.strictSame(Object(await both('update', 'b'))['document'].secret, undefined);
    withPolicies(parts, [EDITORS]);
    await fails(socket, 'p', 'policy-revoked');
    t.match((await stream.event('unsubscribed')).data, { problem: { code: 'policy-revoked' } });
    withPolicies(parts, [MINE, EDITORS, TEAM]);
    t.equal(socket.of('mine').filter(({ type }) => type === 'change').length, 0, 'the owner is told nothing of it');
  });

  await t.test('it ends when that principal ends', async (t) => {
    const eve = await account('eve', { roles: ['editor'] });
    const inAMoment = new Date(Date.now() + 1_500);
    const limits = { name: 'k', roles: ['editor'], collections: null, actions: null, expiresAt: null };
    const key = (await ask(app, 'POST /admin/keys', limits, boss)).json();
    const short = await parts.auth.keys.create({ ...limits, expiresAt: inAMoment }, NOBODY);
    const socket = await enter();
    const streams = new Map<string, Awaited<ReturnType<typeof openStream>>>();
    for (const as of [`user:${eve.id}`, `key:${key.id}`, `key:${short.id}`]) {
      socket.send({ type: 'subscribe', id: as, collection: 'posts', as });
      await socket.frame({ type: 'live', id: as });
      streams.set(as, await openStream(t, `${url}/api/posts`, { ...boss.headers, 'millrace-as': as }));
    }
    await fails(socket, `key:${short.id}`, 'document-not-found');
    await ask(app, `PATCH /admin/users/${eve.id}`, { disabled: true }, boss);
    await fails(socket, `user:${eve.id}`, 'document-not-found');
    await ask(app, `DELETE /admin/keys/${key.id}`, undefined, boss);
    await fails(socket, `key:${key.id}`, 'document-not-found');
    for (const stream of streams.values()) {
      t.match((await stream.event('unsubscribed')).data, { problem: { code: 'document-not-found' } });
      await until(() => stream.ended, 'the stream has ended');
    }
    t.equal(socket.closed, null, 'the connection goes on');
  });

  await t.test('it ends when the owner loses the right to look', async (t) => {
    const aide = await signInOwner(app, parts, ['admin', 'developer']);
    const socket = await enter(aide);
    const stream = await openStream(t, `${url}/api/posts`, { ...aide.headers, 'millrace-as': 'role:editor' });
    for (const as of ['role:editor', `user:${ann.id}`]) {
      socket.send({ type: 'subscribe', id: as, collection: 'posts', as });
      socket.send({ type: 'subscribe', id: `events ${as}`, events: ['posts.*'], as });
    }
    socket.send({ type: 'subscribe', id: 'mine', collection: 'posts' });
    const ids = ['role:editor', `user:${ann.id}`, 'events role:editor', `events user:${ann.id}`];
    for (const id of [...ids, 'mine']) await socket.frame({ type: 'live', id });
    await stream.event('live');
    await parts.auth.users.change(aide.id, { roles: ['developer'] }, NOBODY);
    for (const id of ids) await fails(socket, id, 'forbidden');
    t.match((await stream.event('unsubscribed')).data, { problem: { code: 'forbidden' } });
    await change('b', { title: 'B3' });
    await socket.frame({ id: 'mine', type: 'change' });
    for (const id of ids) t.equal(socket.of(id).at(-1)?.type, 'unsubscribed', `${id} is told nothing more`);
    const before = await enter(boss);
    before.send({ type: 'subscribe', id: 'p', collection: 'posts', as: 'role:editor' });
    await before.frame({ type: 'live', id: 'p' });
    before.send({ type: 'authenticate', token: aide.accessToken });
    await fails(before, 'p', 'forbidden');
  });

  await t.test('it comes back where it was, and knows of changes of rights meanwhile', async (t) => {
    const tom = await account('tom', { roles: ['editor'] });
    const as = `user:${tom.id}`;
    const first = await enter();
    first.send({ type: 'subscribe', id: 'p', collection: 'posts', as });
    const { position } = await first.frame({ type: 'live', id: 'p' });
    first.socket.terminate();
    await ask(app, `PATCH /admin/users/${tom.id}`, { claims: { team: 'red' }, roles: [] }, boss);
    const second = await enter();
    second.send({ type: 'subscribe', id: 'p', collection: 'posts', as, since: position });
    t.match(await second.frame({ type: 'reset', id: 'p' }), { reason: 'policy-changed' });
    t.strictSame(idsOf(await second.frame({ type: 'snapshot', id: 'p' })), ['a']);
  });
});

t.test('in development strangers look as others while policies let them read accounts', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await app.inject({ method: 'POST', url: '/api/posts', payload: { id: 'a' } });
  const socket = await openSocket(t, url);
  const stream = await openStream(t, `${url}/api/posts`, { 'millrace-as': 'role:editor' });
  socket.send({ type: 'subscribe', id: 'p', collection: 'posts', as: 'role:editor' });
  socket.send({ type: 'subscribe', id: 'e', events: ['posts.*'], as: 'role:editor' });
  for (const id of ['p', 'e']) await socket.frame({ type: 'live', id });
  await stream.event('live');
  const list = await app.inject({ url: '/api/posts', headers: { 'millrace-as': 'role:editor' } });
  t.equal(list.statusCode, 200);
  const { authenticator } = parts.auth;
  const { onRevoked } = authenticator;
  const watching = new Promise<void>((resolve) => {
    authenticator.onRevoked = (listener) => {
      resolve();
      return onRevoked.call(authenticator, listener);
    };
  });
  const feed = `/api/posts/_changes?wait=20&since=${parts.events.feed.position}`;
  const waiting = app.inject({ url: feed, headers: { 'millrace-as': 'role:editor' } });
  await watching;
  withPolicies(parts, [{ collections: ['*'], actions: ['read', 'create'] }]);
  const ends = { type: 'unsubscribed', problem: { code: 'not-authenticated' }, retryable: false };
  for (const id of ['p', 'e']) t.match(await socket.frame({ id, type: 'unsubscribed' }), ends);
  t.match((await stream.event('unsubscribed')).data, { problem: { code: 'not-authenticated' } });
  await app.inject({ method: 'POST', url: '/api/posts', payload: { id: 'b' } });
  const told = await waiting;
  t.equal(told.json().code, 'not-authenticated', told.body);
});
