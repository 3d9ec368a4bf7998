/**
 * Claims that change while several tabs of one user hold the same query: each of them, and each that opens afterwards,
 * receives what the new claims allow, and nothing more.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';
import { ask, signInAdmin, signUp } from '../../helpers/users.ts';

t.test('a changed claim reaches every tab', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = await signInAdmin(app, services);
  const ann = await signUp(app, 'ann');
  const claim = async (team: string) => {
    const response = await ask(app, `PATCH /admin/users/${ann.id}`, { claims: { team } }, boss);
    t.equal(response.statusCode, 200, response.body);
  };
  const posts = services.mongo.data.collection<{ _id: string; team: string }>('posts');
  await services.mongo.data.createCollection('posts', { changeStreamPreAndPostImages: { enabled: true } });
  withPolicies(services, [{ resources: ['posts'], actions: ['read'], filter: { team: '$user.claims.team' } }]);
  await claim('old');

  const open = async (): Promise<TestSocket> => {
    const tab = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
    tab.send({ type: 'subscribe', id: 'events', events: ['posts.*'] });
    tab.send({ type: 'subscribe', id: 'mine', events: ['posts.*'], filter: { 'data.team': '$user.claims.team' } });
    tab.send({ type: 'subscribe', id: 'documents', collection: 'posts' });
    for (const id of ['events', 'mine', 'documents']) await tab.frame({ type: 'live', id });
    return tab;
  };
  const reported = (tab: TestSocket, id: string, named: RegExp) =>
    tab.of(id).some((frame) => {
      const logged = frame.type === 'event' ? (frame['event'] as Record<string, unknown>) : frame;
      return named.test(String(logged['documentId']));
    });
  const tabs = [await open(), await open(), await open()];

  await claim('new');
  // A tab that knows the new claim receives this; one that does not never does.
  let probe = 0;
  const know = async () => {
    await posts.insertOne({ _id: `probe-${probe++}`, team: 'new' });
    return tabs.every((tab) => ['events', 'mine', 'documents'].every((id) => reported(tab, id, /^probe/)));
  };
  await until(know, 'every tab receives what the new claim allows');
  tabs.push(await open());

  await posts.insertOne({ _id: 'of-old', team: 'old' });
  await posts.insertOne({ _id: 'of-new', team: 'new' });
  for (const [index, tab] of tabs.entries()) {
    for (const id of ['events', 'mine', 'documents']) {
      await until(() => reported(tab, id, /^of-new$/), `tab ${index}, ${id}, receives the new team`);
      t.notOk(reported(tab, id, /^of-old$/), `tab ${index}, ${id}, receives nothing of the old team`);
    }
  }
});

t.test('a changed claim reaches a waiting poll', async (t) => {
  const { app, services } = await buildTestApp(t);
  const boss = await signInAdmin(app, services);
  const ann = await signUp(app, 'ann', {});
  const claim = (team: string) => ask(app, `PATCH /admin/users/${ann.id}`, { claims: { team } }, boss);
  const posts = services.mongo.data.collection<{ _id: string; team: string }>('posts');
  await services.mongo.data.createCollection('posts', { changeStreamPreAndPostImages: { enabled: true } });
  withPolicies(services, [{ resources: ['posts'], actions: ['read'] }]);
  await claim('old');
  const { position } = (await ask(app, 'GET /api/posts/_changes', undefined, ann)).json();
  const filter = encodeURIComponent('{"team":"$user.claims.team"}');
  const waiting = ask(app, `GET /api/posts/_changes?since=${position}&wait=60&filter=${filter}`, undefined, ann);
  await claim('new');
  // Recorded after the change of the user: a client that reads it knows the new claim.
  await posts.insertOne({ _id: 'of-old', team: 'old' });
  await posts.insertOne({ _id: 'of-new', team: 'new' });
  const response = await waiting;
  t.equal(response.statusCode, 200, response.body);
  const ids = response.json().changes.map(({ documentId }: { documentId: string }) => documentId);
  t.same(ids, ['of-new'], 'its filter has the new claim, too');
});
