/**
 * Clients without rights: they are rejected before the log is read for them, they learn nothing of how much is written,
 * and their subscriptions count as requests.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { nextRow } from '../../helpers/events/log-rows.ts';
import { type Frame, openSocket } from '../../helpers/live/socket.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { key, owner, speakingAs } from '../../helpers/principals.ts';
import { signUp } from '../../helpers/users.ts';

const codeOf = (frame: Frame) => (frame['problem'] as { code: string }).code;

t.test('clients without rights learn nothing', async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_REGISTRATION: 'open',
    MILLRACE_HEARTBEAT_MS: '1000',
  });
  await beOwned(services);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ann = await signUp(app, 'ann');
  const as = speakingAs(services);
  withPolicies(services, [{ resources: ['posts', 'notes'], actions: ['read'], principals: { roles: ['reader'] } }]);
  const since = services.events.feed.position;
  const insertInto = (collection: string) =>
    nextRow(services.events.tail, (row) => row.collection === collection && row.operation === 'insert');
  const recorded = insertInto('secrets');
  await services.mongo.data.collection('posts').insertOne({});
  await services.mongo.data.collection('secrets').insertOne({});
  await recorded;

  const reads: string[] = [];
  const { log, feed } = services.events;
  const watch = <T extends object, K extends keyof T & string>(of: T, name: K, what: (...given: never[]) => string) => {
    const before = of[name] as (...given: unknown[]) => unknown;
    Object.assign(of, {
      [name]: (...given: never[]) => {
        reads.push(what(...given));
        return before.apply(of, given);
      },
    });
  };
  watch(log, 'about', (requested: { collections: readonly string[] }) => `about ${requested.collections.join()}`);
  watch(feed, 'page', () => 'page');
  watch(feed, 'usable', () => 'usable');
  watch(services.realtime.deps.backlog, 'read', () => 'backlog');

  await t.test('a subscription without any rights is rejected, and nothing is read', async (t) => {
    const hellos = [
      [{ type: 'hello' }, 'not-authenticated'],
      [{ type: 'hello', token: ann.accessToken }, 'forbidden'],
    ] as const;
    for (const [hello, code] of hellos) {
      const socket = await openSocket(t, url, { hello });
      await socket.frame({ type: 'welcome' });
      reads.length = 0;
      for (const [index, types] of [['*'], ['*.created', 's*'], ['posts.*'], ['system.*']].entries()) {
        for (const [id, from] of [
          [`now-${index}`, {}],
          [`since-${index}`, { since }],
        ] as const) {
          socket.send({ type: 'subscribe', id, events: types, ...from });
          t.equal(codeOf(await socket.frame({ type: 'unsubscribed', id })), code, `${types.join()} ${code}`);
        }
      }
      t.strictSame(reads, [], 'the log is not read');
    }
  });

  await t.test('a key without rights gets no events over HTTP either', async (t) => {
    reads.length = 0;
    const get = (url: string, headers: Record<string, string>) => app.inject({ url, headers });
    const refused = await get(`/events?since=${since}`, as(key('nobody')));
    t.equal(refused.json().code, 'forbidden');
    t.equal((await get(`/events?since=${since}&types=s*`, as(key('k', { roles: ['reader'] })))).statusCode, 403);
    t.equal((await get(`/api/posts/_changes?since=${since}`, as(key('nobody')))).statusCode, 403);
    t.equal((await get('/api/posts', as(key('nobody')))).headers['millrace-position'], undefined);
    t.strictSame(reads, [], 'the log is not read');
    t.equal((await get(`/events?since=${since}`, as(key('k', { roles: ['reader'] })))).json().events.length, 1);
    t.ok((await get(`/events?since=${since}`, as(owner()))).json().events.length > 1);
  });

  await t.test('a client without rights gets no position', async (t) => {
    for (const [hello, reported] of [
      [{ type: 'hello' }, false],
      [{ type: 'hello', token: ann.accessToken }, false],
    ] as const) {
      const socket = await openSocket(t, url, { hello });
      t.equal('position' in (await socket.frame({ type: 'welcome' })), reported);
      t.equal('position' in (await socket.frame({ type: 'ping' })), reported, 'nor by a heartbeat');
    }
    const reader = await openSocket(t, url, { hello: null, headers: as(key('k', { roles: ['reader'] })) });
    t.match(await reader.frame({ type: 'welcome' }), { position: /^\d+-\d+$/ });
    t.match(await reader.frame({ type: 'ping' }), { position: /^\d+-\d+$/ });
  });

  await t.test('of a long backlog the database filters out unreadable rows', async (t) => {
    const socket = await openSocket(t, url, { hello: null, headers: as(key('k', { roles: ['reader'] })) });
    await services.mongo.data.collection('secrets').insertMany(Array.from({ length: 3_000 }, (_, n) => ({ n })));
    const recorded = insertInto('posts');
    await services.mongo.data.collection('posts').insertOne({});
    await recorded;
    reads.length = 0;
    socket.send({ type: 'subscribe', id: 'all', events: ['*'], since });
    await socket.frame({ type: 'live', id: 'all' });
    t.equal(socket.of('all').filter(({ type }) => type === 'event').length, 2);
    const [first = ''] = reads.filter((read) => read.startsWith('about'));
    t.match(first, /posts/);
    t.notMatch(reads.join(), /secrets/);
  });
});

t.test('a subscription counts as a request', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_RATE_LIMIT_ANONYMOUS: '6' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  withPolicies(services, [{ resources: ['posts'], actions: ['read'] }]);
  const socket = await openSocket(t, url);
  await socket.frame({ type: 'welcome' });
  for (let n = 0; n < 6; n++) socket.send({ type: 'subscribe', id: `s${n}`, collection: 'posts' });
  const refused = await socket.frame({ type: 'unsubscribed' });
  t.match(refused, { id: 's5', problem: { code: 'rate-limited', status: 429 }, retryable: true });
  t.equal((await fetch(`${url}/api/posts`)).status, 429, 'by every kind of request');
  t.equal(socket.closed, null);
});
