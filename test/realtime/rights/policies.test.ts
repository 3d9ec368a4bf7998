/**
 * Realtime under policies: documents that become invisible leave, documents that become visible enter, hidden fields
 * stay hidden, and changes of policies, roles and sessions reach open connections within a second.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openStream } from '../../helpers/live/event-stream.ts';
import { type Frame, openSocket } from '../../helpers/live/socket.ts';
import { ownTimeOf } from '../../helpers/own-time.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { ask, signIn, signInAdmin, signUp } from '../../helpers/users.ts';

const MAX_MS = 1_000;

t.test('realtime under policies', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ann = await signUp(app, 'ann');
  const bob = await signUp(app, 'bob');
  const posts = services.mongo.data.collection<{ _id: string }>('posts');
  await services.mongo.data.createCollection('posts', { changeStreamPreAndPostImages: { enabled: true } });
  await services.mongo.data.createCollection('seen', { changeStreamPreAndPostImages: { enabled: true } });
  const enter = (token: string) => openSocket(t, url, { hello: { type: 'hello', token } });
  const own = { resources: ['posts'], actions: ['read'], filter: { authorId: '$user.id' } };

  await t.test('the states before and after a change are checked separately', async (t) => {
    withPolicies(services, [own]);
    const [a, b] = [await enter(ann.accessToken), await enter(bob.accessToken)];
    for (const socket of [a, b]) {
      socket.send({ type: 'subscribe', id: 'p', collection: 'posts' });
      await socket.frame({ type: 'live' });
    }
    await posts.insertMany([
      { _id: '1', authorId: ann.id, title: 'A' },
      { _id: '2', authorId: bob.id, title: 'B' },
    ] as never);
    t.match(await a.frame({ type: 'change' }), { op: 'enter', documentId: '1' });
    await posts.updateOne({ _id: '1' }, { $set: { authorId: bob.id } });
    const left = await a.frame({ op: 'leave' });
    t.match(left, { documentId: '1', reason: 'gone' });
    t.notOk('document' in left);
    t.match(await b.frame({ op: 'enter', documentId: '1' }), { document: { title: 'A' } });
    t.equal(JSON.stringify(a.frames).includes('"B"'), false, 'nothing of others is sent');
    await posts.deleteMany({});
  });

  await t.test('hidden fields cannot be read, filtered, sorted or watched', async (t) => {
    withPolicies(services, [{ resources: ['posts'], actions: ['read'], fields: { read: ['*', '-secret'] } }]);
    await posts.insertOne({ _id: 'h', title: 'T', secret: 1 } as never);
    const socket = await enter(ann.accessToken);
    for (const query of [
      { filter: { secret: 1 } },
      { sort: 'secret' },
      { filter: { $or: [{ title: 'T' }, { 'secret.x': 1 }] } },
    ]) {
      const id = JSON.stringify(query).slice(0, 60);
      socket.send({ type: 'subscribe', id, collection: 'posts', query });
      t.match(await socket.frame({ id }), { type: 'unsubscribed', problem: { status: 403, code: 'field-hidden' } });
    }
    socket.send({ type: 'subscribe', id: 'ok', collection: 'posts' });
    socket.send({ type: 'subscribe', id: 'events', events: ['posts.*'], filter: { 'data.secret': { $exists: true } } });
    await socket.frame({ type: 'live', id: 'ok' });
    await socket.frame({ type: 'live', id: 'events' });
    await posts.updateOne({ _id: 'h' }, { $set: { secret: 2 } });
    await posts.updateOne({ _id: 'h' }, { $set: { secret: 3, title: 'U' } });
    t.match(await socket.frame({ type: 'change' }), { op: 'update', changed: ['title'], document: { title: 'U' } });
    t.equal(JSON.stringify(socket.frames).includes('secret":'), false);
    t.equal(
      socket.of('events').some(({ type }) => type === 'event'),
      false,
    );
    await posts.deleteMany({});
  });

  await t.test('after a changed policy hidden documents leave and visible ones enter', async (t) => {
    withPolicies(services, [{ resources: ['posts'], actions: ['read'], filter: { n: { $lt: 3 } } }]);
    await posts.insertMany([1, 2, 3, 4].map((n) => ({ _id: `n${n}`, n })) as never);
    const socket = await enter(ann.accessToken);
    const stream = await openStream(t, `${url}/api/posts?sort=-n&limit=2`, ann.headers);
    socket.send({ type: 'subscribe', id: 'all', collection: 'posts' });
    await socket.frame({ type: 'live' });
    await stream.event('live');
    t.match(socket.of('all')[1]?.['documents'], [{ id: 'n1' }, { id: 'n2' }]);
    await services.mongo.data.collection('seen').insertOne({});
    withPolicies(services, [{ resources: ['posts'], actions: ['read'], filter: { n: { $gt: 1 } } }]);
    const ms = await ownTimeOf(async () => {
      t.match(await socket.frame({ op: 'leave' }), { documentId: 'n1', reason: 'gone' });
      await socket.frame({ op: 'enter', documentId: 'n3' });
      await socket.frame({ op: 'enter', documentId: 'n4' });
      await stream.event('change', ({ data }) => data['documentId'] === 'n4' && data['op'] === 'enter');
    });
    t.ok(ms < MAX_MS, `${ms.toFixed()} ms`);
    t.equal(
      socket.of('all').some(({ documentId }) => documentId === 'n2'),
      false,
      'documents that stay are not sent',
    );
    await posts.updateOne({ _id: 'n1' }, { $set: { n: 9 } });
    t.match(await socket.frame({ op: 'enter', documentId: 'n1' }), { document: { n: 9 } });
    await posts.deleteMany({});
  });

  await t.test('a collection that is no longer readable ends with policy-revoked', async (t) => {
    withPolicies(services, [own, { resources: ['notes'], actions: ['read'] }]);
    const socket = await enter(ann.accessToken);
    socket.send({ type: 'subscribe', id: 'p', collection: 'posts' });
    socket.send({ type: 'subscribe', id: 'n', collection: 'notes' });
    socket.send({ type: 'subscribe', id: 'e', events: ['posts.*'] });
    for (const id of ['p', 'n', 'e']) await socket.frame({ type: 'live', id });
    withPolicies(services, [{ resources: ['notes'], actions: ['read'] }]);
    const ends = { type: 'unsubscribed', problem: { status: 403, code: 'policy-revoked' }, retryable: false };
    const ms = await ownTimeOf(async () => {
      t.match(await socket.frame({ type: 'unsubscribed', id: 'p' }), ends);
      t.match(await socket.frame({ type: 'unsubscribed', id: 'e' }), ends);
    });
    t.ok(ms < MAX_MS, `${ms.toFixed()} ms`);
    t.equal(socket.closed, null);
    socket.send({ type: 'subscribe', id: 'p', collection: 'posts' });
    t.match(
      await socket.frame(({ id, problem }) => id === 'p' && (problem as { code?: string })?.code === 'forbidden'),
      {
        type: 'unsubscribed',
      },
    );
  });

  await t.test('an anonymous client gets not-authenticated', async (t) => {
    withPolicies(services, [own]);
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 'p', collection: 'posts' });
    socket.send({ type: 'subscribe', id: 'e', events: ['*'] });
    socket.send({ type: 'subscribe', id: 's', events: ['system.*'] });
    const denied = { type: 'unsubscribed', problem: { status: 401, code: 'not-authenticated' } };
    const found = await socket.frame({ id: 'p' });
    // A variable without a value makes the policy allow nothing: the query is accepted, and finds nothing.
    t.ok(
      found.type === 'subscribed' || (found['problem'] as { status?: number }).status === 401,
      JSON.stringify(found),
    );
    t.match(await socket.frame({ id: 's' }), denied);
    await posts.insertOne({ _id: 'x', authorId: ann.id } as never);
    await services.mongo.data.collection('seen').insertOne({});
    await posts.deleteMany({});
    t.equal(
      socket.frames.some(({ type }) => type === 'event' || type === 'change'),
      false,
    );
  });

  await t.test('a revoked session closes its sockets and streams', async (t) => {
    withPolicies(services, [own]);
    const eve = await signUp(app, 'eve');
    const [socket, other] = [await enter(eve.accessToken), await enter(ann.accessToken)];
    await socket.frame({ type: 'welcome' });
    await other.frame({ type: 'welcome' });
    const stream = await openStream(t, `${url}/api/posts`, eve.headers);
    await stream.event('live');
    await ask(app, 'POST /auth/logout', undefined, eve);
    const ended = { problem: { status: 401, code: 'not-authenticated' }, retryable: false };
    const ms = await ownTimeOf(async () => {
      t.equal((await socket.end()).code, 4401);
      t.match((await stream.event('unsubscribed')).data, ended);
    });
    t.ok(ms < MAX_MS, `${ms.toFixed()} ms`);
    t.equal(other.closed, null);
  });

  await t.test('other roles see other documents', async (t) => {
    withPolicies(services, [own, { resources: ['posts'], actions: ['read'], principals: { roles: ['editor'] } }]);
    const boss = await signInAdmin(app, services);
    const carl = await signUp(app, 'carl');
    await posts.insertOne({ _id: 'r', authorId: ann.id } as never);
    const socket = await enter(carl.accessToken);
    socket.send({ type: 'subscribe', id: 'p', collection: 'posts' });
    await socket.frame({ type: 'live' });
    const response = await ask(app, `PATCH /admin/users/${carl.id}`, { roles: ['editor'] }, boss);
    t.equal(response.statusCode, 200, response.body);
    const shown = ({ op, documents }: Frame) => op === 'enter' || JSON.stringify(documents)?.includes('"r"') === true;
    const ms = await ownTimeOf(() => socket.frame(shown));
    t.ok(ms < MAX_MS, `${ms.toFixed()} ms`);
    await posts.deleteMany({});
  });

  await t.test('a newer token continues the connection, an invalid one ends it', async (t) => {
    withPolicies(services, [own]);
    const socket = await enter(ann.accessToken);
    socket.send({ type: 'subscribe', id: 'p', collection: 'posts' });
    await socket.frame({ type: 'live' });
    const { connection } = await socket.frame({ type: 'welcome' });
    const from = socket.frames.length;
    socket.send({ type: 'authenticate', token: (await signIn(app, 'ann')).accessToken });
    t.match(await socket.frame({ type: 'welcome' }, from), { connection, principal: { kind: 'user', id: ann.id } });
    socket.send({ type: 'authenticate', token: 'wrong' });
    t.equal((await socket.end()).code, 4401);
  });

  await t.test('resuming after a change of policies restarts', async (t) => {
    withPolicies(services, [own]);
    const boss = await signInAdmin(app, services).catch(() => signIn(app, 'owner@example.org'));
    const socket = await enter(ann.accessToken);
    socket.send({ type: 'subscribe', id: 'p', collection: 'posts' });
    const live = await socket.frame({ type: 'live' });
    socket.socket.close();
    const recorded = new Promise<void>((resolve) => {
      const detach = services.events.tail.attach({
        rows: (rows) => {
          if (!rows.some(({ collection }) => collection === '_policies')) return;
          detach();
          resolve();
        },
      });
    });
    const saved = await ask(app, 'POST /admin/policies', { name: 'Everybody reads', effect: 'allow', ...own }, boss);
    t.equal(saved.statusCode, 201, saved.body);
    await recorded;
    const back = await enter(ann.accessToken);
    back.send({ type: 'subscribe', id: 'p', collection: 'posts', since: live['position'] });
    t.match(await back.frame({ type: 'reset' }), { reason: 'policy-changed' });
    await back.frame({ type: 'live' });
  });
});
