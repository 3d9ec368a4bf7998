/**
 * Claims that change while several tabs of one account hold the same question: each of them, and each that opens
 * afterwards, is told what the new claims let it see, and nothing more.
 */
import t from 'tap';
import { ask, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

t.test('a changed claim reaches every tab', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = await signInOwner(app, parts);
  const ann = await signUp(app, 'ann');
  const claim = async (team: string) => {
    const answer = await ask(app, `PATCH /admin/users/${ann.id}`, { claims: { team } }, boss);
    t.equal(answer.statusCode, 200, answer.body);
  };
  const posts = parts.mongo.data.collection<{ _id: string; team: string }>('posts');
  await parts.mongo.data.createCollection('posts', { changeStreamPreAndPostImages: { enabled: true } });
  withPolicies(parts, [{ collections: ['posts'], actions: ['read'], where: { team: '$user.claims.team' } }]);
  await claim('old');

  const open = async (): Promise<TestSocket> => {
    const tab = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
    tab.send({ type: 'subscribe', id: 'events', events: ['posts.*'] });
    tab.send({ type: 'subscribe', id: 'mine', events: ['posts.*'], filter: { 'data.team': '$user.claims.team' } });
    tab.send({ type: 'subscribe', id: 'documents', collection: 'posts' });
    for (const id of ['events', 'mine', 'documents']) await tab.frame({ type: 'live', id });
    return tab;
  };
  const told = (tab: TestSocket, id: string, named: RegExp) =>
    tab.of(id).some((frame) => {
      const told = frame.type === 'event' ? (frame['event'] as Record<string, unknown>) : frame;
      return named.test(String(told['documentId']));
    });
  const tabs = [await open(), await open(), await open()];

  await claim('new');
  // A tab that knows the new claim is told this; one that does not never is.
  let probe = 0;
  const know = async () => {
    await posts.insertOne({ _id: `probe-${probe++}`, team: 'new' });
    return tabs.every((tab) => ['events', 'mine', 'documents'].every((id) => told(tab, id, /^probe/)));
  };
  await until(know, 'every tab is told what the new claim shows');
  tabs.push(await open());

  await posts.insertOne({ _id: 'of-old', team: 'old' });
  await posts.insertOne({ _id: 'of-new', team: 'new' });
  for (const [index, tab] of tabs.entries()) {
    for (const id of ['events', 'mine', 'documents']) {
      await until(() => told(tab, id, /^of-new$/), `tab ${index}, ${id}, is told of the new team`);
      t.notOk(told(tab, id, /^of-old$/), `tab ${index}, ${id}, is told nothing of the old team`);
    }
  }
});

t.test('a changed claim reaches a poll that waits', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const boss = await signInOwner(app, parts);
  const ann = await signUp(app, 'ann', {});
  const claim = (team: string) => ask(app, `PATCH /admin/users/${ann.id}`, { claims: { team } }, boss);
  const posts = parts.mongo.data.collection<{ _id: string; team: string }>('posts');
  await parts.mongo.data.createCollection('posts', { changeStreamPreAndPostImages: { enabled: true } });
  withPolicies(parts, [{ collections: ['posts'], actions: ['read'] }]);
  await claim('old');
  const { position } = (await ask(app, 'GET /api/posts/_changes', undefined, ann)).json();
  const filter = encodeURIComponent('{"team":"$user.claims.team"}');
  const waiting = ask(app, `GET /api/posts/_changes?since=${position}&wait=60&filter=${filter}`, undefined, ann);
  await claim('new');
  // Recorded after the change of the account: whoever reads it knows the new claim.
  await posts.insertOne({ _id: 'of-old', team: 'old' });
  await posts.insertOne({ _id: 'of-new', team: 'new' });
  const answer = await waiting;
  t.equal(answer.statusCode, 200, answer.body);
  const ids = answer.json().changes.map(({ documentId }: { documentId: string }) => documentId);
  t.same(ids, ['of-new'], 'what it asks with is the new claim, too');
});
