/**
 * A claim that is removed: requests get an error with the variable without a value, live results are empty until it is
 * back.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openStream } from '../../helpers/live/event-stream.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { ask, signInAdmin, signUp } from '../../helpers/users.ts';

const POSTS = { resources: ['posts'], actions: ['read', 'create'] };

t.test('a missing claim empties live results', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = await signInAdmin(app, services);
  const ann = await signUp(app, 'ann');
  const claim = async (claims: object) => {
    const response = await ask(app, `PATCH /admin/users/${ann.id}`, { claims }, boss);
    t.equal(response.statusCode, 200, response.body);
  };
  for (const [id, team] of [
    ['a', 'red'],
    ['b', 'blue'],
  ])
    await ask(app, 'POST /api/posts', { id, team }, boss);

  await t.test('a missing claim is named in the error to its own user only', async (t) => {
    withPolicies(services, [
      { ...POSTS, filter: { team: '$user.claims.team' }, set: { by: '$user.claims.unit.name' } },
    ]);
    const refused = await ask(app, 'GET /api/posts', undefined, ann);
    t.match(refused.json(), {
      status: 403,
      code: 'forbidden',
      hint: /\$user\.claims\.team, \$user\.claims\.unit\.name/,
    });
    t.notMatch((await ask(app, 'GET /api/posts')).body, /claims/, 'an anonymous client has none');
    const { key } = await services.auth.keys.create(
      { name: 'k', roles: [], resources: ['others'], actions: null, expiresAt: null },
      { by: null, request: null },
    );
    const limited = { headers: { authorization: `Bearer ${key}` } };
    t.notMatch((await ask(app, 'GET /api/posts', undefined, limited)).body, /claims/, 'nor does the limit of a key');
    withPolicies(services, [{ ...POSTS, principals: { roles: ['other'] }, filter: { team: '$user.claims.team' } }]);
    t.equal(
      (await ask(app, 'GET /api/posts', undefined, ann)).json().hint,
      undefined,
      'a policy of others is not named',
    );
  });

  for (const [name, policies] of [
    ['an allow', [{ ...POSTS, filter: { team: '$user.claims.team' } }]],
    ['a deny', [POSTS, { ...POSTS, effect: 'deny', filter: { team: { $ne: '$user.claims.team' } } }]],
  ] as const) {
    await t.test(`${name} empties a live result, which fills again when the claim is back`, async (t) => {
      withPolicies(services, policies);
      await claim({ team: 'red' });
      const socket = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
      socket.send({ type: 'subscribe', id: 's', collection: 'posts', query: { filter: { team: { $exists: true } } } });
      await socket.frame({ type: 'live' });
      t.match(socket.of('s')[1], { type: 'snapshot', documents: [{ id: 'a' }] });
      await claim({});
      t.match(await socket.frame({ op: 'leave' }), { documentId: 'a' });
      await claim({ team: 'blue' });
      t.match(await socket.frame({ op: 'enter' }), { documentId: 'b', document: { team: 'blue' } });
      t.notOk(
        socket.of('s').some(({ type }) => type === 'unsubscribed'),
        'it never ended',
      );
      socket.send({ type: 'subscribe', id: 'other', collection: 'posts' });
      await socket.frame({ type: 'live', id: 'other' });
      withPolicies(services, []);
      t.match(await socket.frame({ type: 'unsubscribed' }), { problem: { code: 'policy-revoked' } }, 'others do');
    });
  }

  await t.test('a live result that starts without the claim waits for it', async (t) => {
    withPolicies(services, [{ ...POSTS, filter: { team: '$user.claims.team' } }]);
    await claim({});
    const socket = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
    const query = { filter: { team: { $exists: true } }, sort: 'team', fields: 'team' };
    socket.send({ type: 'subscribe', id: 's', collection: 'posts', query });
    socket.send({
      type: 'subscribe',
      id: 'own',
      collection: 'posts',
      query: { filter: { team: '$user.claims.team' } },
    });
    socket.send({ type: 'subscribe', id: 'named', events: ['posts.*'] });
    socket.send({ type: 'subscribe', id: 'any', events: ['*'] });
    for (const id of ['s', 'own', 'named', 'any']) await socket.frame({ type: 'live', id });
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${ann.accessToken}` };
    const stream = await openStream(t, `${url}/api/posts`, headers);
    await stream.event('live');
    t.equal((await ask(app, 'GET /api/posts', undefined, ann)).statusCode, 403, 'a list says which value is missing');

    await ask(app, 'POST /api/posts', { id: 'c', team: 'blue' }, boss);
    await claim({ team: 'red' });
    for (const id of ['s', 'own']) t.match(await socket.frame({ op: 'enter', id }), { documentId: 'a' });
    t.match(await stream.event('change'), { data: { documentId: 'a' } });
    await ask(app, 'POST /api/posts', { id: 'd', team: 'red' }, boss);
    for (const id of ['named', 'any']) {
      t.match(await socket.frame({ type: 'event', id }), { event: { documentId: 'd' } }, 'events of its team');
    }
    await claim({});
    await socket.frame({ op: 'leave', documentId: 'd', id: 's' });
    await claim({ team: 'blue' });
    await socket.frame({ op: 'enter', documentId: 'b', id: 's' });
    await ask(app, 'POST /api/posts', { id: 'e', team: 'blue' }, boss);
    await socket.frame((frame) => frame['id'] === 'any' && Object(frame['event']).documentId === 'e');
    t.notOk(
      socket.frames.some(({ type }) => type === 'unsubscribed'),
      'none has ended',
    );
    socket.send({ type: 'subscribe', id: 'elsewhere', collection: 'others' });
    t.match(await socket.frame({ type: 'unsubscribed' }), { id: 'elsewhere', problem: { code: 'forbidden' } });
  });
});
