/**
 * Impersonation in realtime: a subscription returns what the impersonated principal would get, follows its rights, and
 * ends with them or with the administrator's right to impersonate. Random policies are in
 * test/policies/as/property.test.ts.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openStream } from '../../helpers/live/event-stream.ts';
import { type Frame, openSocket } from '../../helpers/live/socket.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin } from '../../helpers/users.ts';

const NOBODY = { by: null, request: null };
const MINE = {
  resources: ['posts'],
  actions: ['read'],
  filter: { author: '$user.id' },
  fields: { read: ['*', '-secret'] },
};
const EDITORS = { resources: ['posts'], actions: ['read'], principals: { roles: ['editor'] } };
const TEAM = { resources: ['posts'], actions: ['read'], filter: { team: '$user.claims.team' } };

t.test('realtime under impersonation', async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_RATE_LIMIT_PRINCIPAL: '100000',
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = await signInAdmin(app, services);
  const user = async (username: string, more: object = {}) => {
    const roles: readonly string[] = [];
    await services.auth.users.create({ kind: 'user', username, password: PASSWORD, roles, ...more }, NOBODY);
    return signIn(app, username);
  };
  const ann = await user('ann');
  await ask(
    app,
    'POST /api/posts',
    [
      { id: 'a', author: ann.id, title: 'A', secret: 1, team: 'red' },
      { id: 'b', author: 'bob', title: 'B', secret: 2, team: 'blue' },
    ],
    boss,
  );
  const change = (id: string, fields: object) => ask(app, `PATCH /api/posts/${id}`, fields, boss);
  const enter = (who = boss) => openSocket(t, url, { hello: { type: 'hello', token: who.accessToken } });
  const idsOf = (frame: Frame) => (frame['documents'] as { id: string }[]).map(({ id }) => id);
  const fails = async (socket: Awaited<ReturnType<typeof enter>>, id: string, code: string) =>
    t.match(await socket.frame({ id, type: 'unsubscribed' }), { problem: { code }, retryable: false }, `${id} ${code}`);
  withPolicies(services, [MINE, EDITORS, TEAM]);

  await t.test(
    'an administrator receives documents and events of the impersonated principal beside its own',
    async (t) => {
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
    },
  );

  await t.test('impersonation is rejected with the reason', async (t) => {
    const socket = await enter();
    for (const as of ['', 'nobody', 'user:', 7, 'admin:x']) {
      const id = `bad ${as}`;
      socket.send({ type: 'subscribe', id, collection: 'posts', as });
      await fails(socket, id, 'invalid-parameter');
    }
    for (const as of ['user:nobody', 'key:nobody']) {
      socket.send({ type: 'subscribe', id: as, collection: 'posts', as });
      await fails(socket, as, `${as.slice(0, as.indexOf(':'))}-not-found`);
    }
    socket.send({ type: 'subscribe', id: 'other', collection: 'posts', as: 'anonymous' });
    await fails(socket, 'other', 'not-authenticated');
    socket.send({ type: 'subscribe', id: 'system', events: ['system.*'], as: `user:${ann.id}` });
    await fails(socket, 'system', 'forbidden');
    const viewer = await signInAdmin(app, services, ['viewer']);
    for (const [who, code] of [
      [ann, 'forbidden'],
      [viewer, 'forbidden'],
    ] as const) {
      const other = await enter(who);
      other.send({ type: 'subscribe', id: 's', collection: 'posts', as: `user:${ann.id}` });
      await fails(other, 's', code);
    }
    const anonymous = await openSocket(t, url);
    anonymous.send({ type: 'subscribe', id: 's', collection: 'posts', as: 'role:editor' });
    await fails(anonymous, 's', 'not-authenticated');
    t.equal((await fetch(`${url}/realtime`, { headers: { ...boss.headers, 'millrace-as': 'anonymous' } })).status, 403);
    t.equal(socket.closed, null);
  });

  await t.test('an impersonated subscription follows roles, claims and policies of that principal', async (t) => {
    const rick = await user('rick', { roles: ['editor'] });
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
    withPolicies(services, [MINE, EDITORS, { ...TEAM, fields: { read: ['title'] } }]);
    t.strictSame(Object(await both('update', 'b'))['document'].secret, undefined);
    withPolicies(services, [EDITORS]);
    await fails(socket, 'p', 'policy-revoked');
    t.match((await stream.event('unsubscribed')).data, { problem: { code: 'policy-revoked' } });
    withPolicies(services, [MINE, EDITORS, TEAM]);
    t.equal(
      socket.of('mine').filter(({ type }) => type === 'change').length,
      0,
      'the administrator receives nothing of it',
    );
  });

  await t.test('an impersonated subscription ends when that principal ends', async (t) => {
    const eve = await user('eve', { roles: ['editor'] });
    const inAMoment = new Date(Date.now() + 1_500);
    const limits = { name: 'k', roles: ['editor'], resources: null, actions: null, expiresAt: null };
    const key = (await ask(app, 'POST /admin/keys', limits, boss)).json();
    const short = await services.auth.keys.create({ ...limits, expiresAt: inAMoment }, NOBODY);
    const socket = await enter();
    const streams = new Map<string, Awaited<ReturnType<typeof openStream>>>();
    for (const as of [`user:${eve.id}`, `key:${key.id}`, `key:${short.id}`]) {
      socket.send({ type: 'subscribe', id: as, collection: 'posts', as });
      await socket.frame({ type: 'live', id: as });
      streams.set(as, await openStream(t, `${url}/api/posts`, { ...boss.headers, 'millrace-as': as }));
    }
    await fails(socket, `key:${short.id}`, 'api-key-not-found');
    await ask(app, `PATCH /admin/users/${eve.id}`, { disabled: true }, boss);
    await fails(socket, `user:${eve.id}`, 'user-not-found');
    await ask(app, `DELETE /admin/keys/${key.id}`, undefined, boss);
    await fails(socket, `key:${key.id}`, 'api-key-not-found');
    for (const [as, stream] of streams) {
      t.match((await stream.event('unsubscribed')).data, {
        problem: { code: `${as.slice(0, as.indexOf(':'))}-not-found` },
      });
      await until(() => stream.ended, 'the stream has ended');
    }
    t.equal(socket.closed, null, 'the connection continues');
  });

  await t.test('it ends when the administrator loses the right to impersonate', async (t) => {
    const aide = await signInAdmin(app, services, ['manager', 'developer']);
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
    await services.auth.users.change(aide.id, { roles: ['developer'] }, NOBODY);
    for (const id of ids) await fails(socket, id, 'forbidden');
    t.match((await stream.event('unsubscribed')).data, { problem: { code: 'forbidden' } });
    await change('b', { title: 'B3' });
    await socket.frame({ id: 'mine', type: 'change' });
    for (const id of ids) t.equal(socket.of(id).at(-1)?.type, 'unsubscribed', `${id} receives nothing more`);
    const before = await enter(boss);
    before.send({ type: 'subscribe', id: 'p', collection: 'posts', as: 'role:editor' });
    await before.frame({ type: 'live', id: 'p' });
    before.send({ type: 'authenticate', token: aide.accessToken });
    await fails(before, 'p', 'forbidden');
  });

  await t.test('an impersonated subscription resumes at its position, and detects changed rights', async (t) => {
    const tom = await user('tom', { roles: ['editor'] });
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

t.test('in development anonymous clients can impersonate while policies let them read users', async (t) => {
  const { app, services } = await buildTestApp(t);
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
  const { authenticator } = services.auth;
  const { onRevoked } = authenticator;
  const watching = new Promise<void>((resolve) => {
    authenticator.onRevoked = (listener) => {
      resolve();
      return onRevoked.call(authenticator, listener);
    };
  });
  const feed = `/api/posts/_changes?wait=20&since=${services.events.feed.position}`;
  const waiting = app.inject({ url: feed, headers: { 'millrace-as': 'role:editor' } });
  await watching;
  withPolicies(services, [{ resources: ['*'], actions: ['read', 'create'] }]);
  const ends = { type: 'unsubscribed', problem: { code: 'not-authenticated' }, retryable: false };
  for (const id of ['p', 'e']) t.match(await socket.frame({ id, type: 'unsubscribed' }), ends);
  t.match((await stream.event('unsubscribed')).data, { problem: { code: 'not-authenticated' } });
  await app.inject({ method: 'POST', url: '/api/posts', payload: { id: 'b' } });
  const reported = await waiting;
  t.equal(reported.json().code, 'not-authenticated', reported.body);
});
