/** Policies over HTTP: stored as data, checked as a whole, versioned, active in every process, simulated. */
import t from 'tap';
import { parseCollectionName } from '../../src/database/parse-collection-name.ts';
import { buildTestApp } from '../helpers/app.ts';
import { stopEventLog } from '../helpers/events/stop-event-log.ts';
import { testMongo } from '../helpers/mongo.ts';
import { ownTimeOf } from '../helpers/own-time.ts';
import { beOwned } from '../helpers/policies.ts';
import { owner, speakingAs, user } from '../helpers/principals.ts';
import { until } from '../helpers/until.ts';

const OWN = {
  name: 'Authors edit their own posts',
  resources: ['posts'],
  actions: ['read', 'update', 'delete'],
  principals: { roles: ['author'] },
  effect: 'allow',
  filter: { authorId: '$user.id' },
  fields: { read: ['*', '-internal'], write: ['title', 'body'] },
  set: { authorId: '$user.id' },
};

/** Maximum wait for a change on a busy machine, in milliseconds. */
const MOST_MS = 20_000;

t.test('policies are data of administrators', async (t) => {
  const resource = await testMongo(t);
  const production = { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'closed' };
  const { app, services } = await buildTestApp(t, production, resource);
  await beOwned(services);
  const other = await buildTestApp(t, production, resource);
  const boss = speakingAs(services)(owner());
  const asOther = speakingAs(other.services);
  const send = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) =>
    app.inject({ method, url: `/admin/policies${url}`, headers: boss, ...(payload === undefined ? {} : { payload }) });

  await t.test('production begins without policies, and anonymous clients learn nothing', async (t) => {
    t.strictSame((await send('GET', '')).json(), { version: 0, policies: [] });
    t.equal((await app.inject('/admin/policies')).statusCode, 401);
    t.equal((await app.inject('/api/posts')).statusCode, 401);
    const known = speakingAs(services)(user('u1'));
    t.equal((await app.inject({ url: '/admin/policies', headers: known })).statusCode, 403);
  });

  await t.test('a policy is created under a readable id, and is an event', async (t) => {
    const position = String((await app.inject({ url: '/events', headers: boss })).headers['millrace-position']);
    const response = await send('POST', '', OWN);
    t.equal(response.statusCode, 201);
    t.equal(response.headers.location, '/admin/policies/authors-edit-their-own-posts');
    t.strictSame(response.json(), { id: 'authors-edit-their-own-posts', ...OWN });
    const { events } = (await app.inject({ url: `/events?since=${position}&wait=10`, headers: boss })).json();
    t.match(events, [{ type: 'system.policy.created', actor: { kind: 'admin', id: 'o1' }, data: OWN }]);
    t.equal((await send('POST', '', OWN)).json().code, 'policy-exists');
  });

  await t.test('a policy takes effect at once here, and within a second in another process', async (t) => {
    const author = user('u1', ['author']);
    t.equal(services.policies.find(author, 'read', '_files'), null);
    const posts = parseCollectionName('posts');
    await until(
      () => other.services.policies.find(author, 'read', posts) !== null,
      'the policy made before holds there',
    );
    let reported = 0;
    const end = other.services.policies.onChange(() => {
      // It may still receive an earlier change.
      if (other.services.policies.find(author, 'read', '_files') === null) return;
      reported += 1;
      end();
    });
    const files = { name: 'Files', resources: ['_files'], actions: ['subscribe'], effect: 'allow' };
    await send('POST', '', files);
    // The request itself may take long on a busy machine: the second begins with its response.
    t.ok(services.policies.find(author, 'read', '_files'));
    const ms = await ownTimeOf(() => until(() => reported > 0, 'the other process is notified', MOST_MS));
    t.comment(`active elsewhere after ${ms.toFixed()} ms`);
    t.ok(ms < 1_000, `${ms.toFixed()} ms`);
    t.equal(reported, 1);
    t.equal((await other.app.inject({ url: '/files', headers: asOther(author) })).statusCode, 200);
    t.equal((await other.app.inject({ method: 'DELETE', url: '/files/1', headers: asOther(author) })).statusCode, 403);
  });

  await t.test('errors are reported with their pointers, and nothing is stored', async (t) => {
    for (const [change, pointer, detail] of ISSUES) {
      const response = await send('POST', '', { ...OWN, name: 'x', ...change });
      t.equal(response.statusCode, 400, response.body);
      const { errors } = response.json();
      t.equal(errors?.[0]?.pointer, pointer);
      t.match(errors?.[0]?.detail, detail);
    }
    t.equal((await send('GET', '')).json().policies.length, 2);
  });

  await t.test('a set of policies that contradicts itself is rejected', async (t) => {
    const twin = await send('POST', '', { ...OWN, id: 'twin' });
    t.match(twin.json(), { code: 'invalid-policy', errors: [{ pointer: '/name', detail: /same name/ }] });
    const deny = { name: 'No', resources: ['*'], actions: ['read', 'update', 'delete'], effect: 'deny' };
    t.match((await send('POST', '', deny)).json(), { code: 'invalid-policy', errors: [{ detail: /can never allow/ }] });
  });

  await t.test('policy versions can be restored', async (t) => {
    const changed = { ...OWN, filter: { authorId: '$user.id', locked: { $ne: true } } };
    t.equal((await send('PUT', '/authors-edit-their-own-posts', changed)).statusCode, 200);
    t.equal((await send('DELETE', '/files')).statusCode, 204);
    t.equal((await send('DELETE', '/files')).json().code, 'policy-not-found');
    const versions = (await send('GET', '/versions')).json();
    t.match(versions, [{ version: 4 }, { version: 3 }, { version: 2 }, { version: 1, by: 'admin:o1' }]);
    const restored = await send('POST', '/versions/2/restore');
    t.equal(restored.json().version, 5);
    const { version, policies } = (await send('GET', '')).json();
    t.equal(version, 5);
    t.strictSame(policies, versions[2].policies);
    t.equal((await send('POST', '/versions/77/restore')).json().code, 'policy-not-found');
  });

  await t.test('policies can be simulated', async (t) => {
    const author = { kind: 'user', id: 'u1', roles: ['author'] };
    const request = (query: object) => send('POST', '/test', { resource: 'posts', ...query });
    const mine = { id: 'p1', authorId: 'u1', internal: 1 };
    const id = 'authors-edit-their-own-posts';
    t.strictSame((await request({ principal: author, action: 'read', document: mine })).json(), {
      decision: 'allow',
      policy: id,
      fields: { read: ['*', '-internal'], write: [] },
    });
    t.match((await request({ principal: author, action: 'read', document: { authorId: 'u2' } })).json(), {
      decision: 'deny',
      policy: null,
    });
    const anonymous = { kind: 'anonymous' };
    t.match((await request({ principal: anonymous, action: 'read', document: mine })).json(), { decision: 'deny' });
    const edit = { principal: author, action: 'update', before: mine };
    t.match((await request({ ...edit, document: { ...mine, title: 'x', authorId: 'u9' } })).json(), {
      decision: 'allow',
      fields: { write: ['title', 'body'] },
    });
    t.match((await request({ ...edit, document: { ...mine, internal: 2 } })).json(), {
      decision: 'deny',
      reason: /internal/,
    });
    t.match((await request({ principal: { kind: 'admin', roles: ['viewer'] }, action: 'read' })).json(), {
      decision: 'allow',
      policy: null,
      reason: /Administrators/,
    });
    const base = { principal: author, resource: 'posts', action: 'read', document: mine };
    const cases = [
      { ...base, expect: 'allow' },
      { ...base, name: 'wrong', expect: 'deny' },
    ];
    t.strictSame((await send('POST', '/check', { cases })).json(), {
      passed: 1,
      failed: [{ index: 1, name: 'wrong', expect: 'deny', decision: 'allow', policy: id }],
    });
    t.equal((await send('POST', '/check', { cases: [{ expect: 'allow' }] })).json().code, 'invalid-body-type');
  });

  await t.test('a process that cannot read its policies serves only administrators', async (t) => {
    const stored = services.mongo.data.collection('_policies');
    t.equal((await app.inject({ url: '/files', headers: speakingAs(services)(user('u1')) })).statusCode, 200);
    await stored.updateOne({ name: 'Files' }, { $set: { effect: 'alow' } });
    const request = () => app.inject({ url: '/files', headers: speakingAs(services)(user('u1')) });
    await until(async () => (await request()).statusCode !== 200, 'the policy is no longer active', MOST_MS);
    const response = await request();
    t.equal(response.statusCode, 503);
    t.equal(response.json().code, 'policies-unavailable');
    t.equal((await send('GET', '')).statusCode, 200);
    t.equal((await send('PUT', '/files', { ...OWN, name: 'Files' })).statusCode, 200);
    t.equal((await app.inject({ url: '/files', headers: speakingAs(services)(user('u1')) })).statusCode, 403);
  });
});

const ISSUES: readonly [object, string, RegExp][] = [
  [{ filter: { authorId: { $equals: 1 } } }, '/filter/authorId', /Unknown operator '\$equals'.*\$/],
  [{ filter: { authorId: '$user.name' } }, '/filter/authorId', /Unknown variable '\$user.name'.*Did you mean/],
  [{ filter: { at: '$now+999999999w' } }, '/filter/at', /not a possible date/],
  [{ set: { at: '$now+999999999w' } }, '/set/at', /not a possible date/],
  [{ filtr: {} }, '/filtr', /'filtr' is not a field here. Did you mean 'filter'/],
  [{ actions: ['write'] }, '/actions/0', /read, create, update/],
  [{ resources: ['_users'] }, '/resources/0', /is not the name of a collection/],
  [
    { resources: ['_webhooks'], fields: undefined, set: undefined },
    '/resources',
    /'filter'.* no effect for '_webhooks'/,
  ],
  [{ resources: ['_webhooks'], filter: undefined, set: undefined }, '/resources', /'fields'.* no effect/],
  [{ resources: ['_admin'] }, '/resources/0', /is for administrators/],
  [{ fields: { read: ['*', 'title'] } }, '/fields/read/1', /'\*' already includes/],
  [{ fields: { read: ['title', '-title'] } }, '/fields/read/1', /excludes a field that is not included/],
  [{ fields: { read: ['a', 'a.b'] } }, '/fields/read/1', /is part of 'a'/],
  [{ fields: { write: ['items.0.cost'] } }, '/fields/write/0', /position in an array/],
  [{ fields: { write: ['id'] } }, '/fields/write/0', /always visible/],
  [{ set: { _meta: 1 } }, '/set/_meta', /not a field that a policy can set/],
  [{ set: { authorId: 'u1' } }, '/set/authorId', /another value than 'filter'/],
  [{ effect: 'deny' }, '/fields', /cannot have 'fields'/],
  [{ actions: ['read'] }, '/fields/write', /has no effect without/],
  [{ principals: { anonymous: true } }, '/principals', /Anonymous clients have no \$user/],
  [{ principals: {} }, '/principals', /fewer|must/],
  [{ actions: ['call'], fields: undefined, set: undefined }, '/actions', /belong together/],
];

t.test('a policy change without an event is noticed within a second, too', async (t) => {
  const resource = await testMongo(t);
  const { services } = await buildTestApp(t, { MILLRACE_MODE: 'production' }, resource);
  await beOwned(services);
  const other = await buildTestApp(t, { MILLRACE_MODE: 'production' }, resource);
  // As if nothing recorded events: neither process learns of anything.
  await Promise.all([services, other.services].map(stopEventLog));
  const [anybody, any] = [user('u'), parseCollectionName('any')];
  let reported = 0;
  other.services.policies.onChange(() => {
    if (other.services.policies.find(anybody, 'read', any) !== null) reported += 1;
  });
  const scope = services.policies.scope(owner(), 'create', '_admin');
  await services.policyRegistry.create(
    scope,
    { name: 'a', resources: ['*'], actions: ['read'], effect: 'allow' },
    'req_1',
  );
  const ms = await ownTimeOf(() => until(() => reported > 0, 'the other process notices it', MOST_MS));
  t.ok(ms < 1_000, `${ms.toFixed()} ms`);
});

t.test('development begins with one visible policy that production ignores', async (t) => {
  const resource = await testMongo(t);
  const { app } = await buildTestApp(t, {}, resource);
  const { version, policies } = (await app.inject('/admin/policies')).json();
  t.equal(version, 1);
  t.match(policies, [{ id: 'open-in-development', name: 'Open in development', mode: 'development' }]);
  t.equal((await app.inject({ method: 'POST', url: '/api/a', payload: {} })).statusCode, 201);
  const strict = await buildTestApp(t, { MILLRACE_MODE: 'production' }, resource);
  t.equal((await strict.app.inject('/api/a')).statusCode, 401);
  t.equal((await app.inject({ method: 'DELETE', url: '/admin/policies/open-in-development' })).statusCode, 204);
  for (const url of ['/api/a', '/files', '/events', '/admin/policies'])
    t.equal((await app.inject(url)).statusCode, 401, url);
});

t.test('development starts again when its database is dropped, not when its policy is deleted', async (t) => {
  const { app, services } = await buildTestApp(t);
  const write = async () => (await app.inject({ method: 'POST', url: '/api/a', payload: {} })).statusCode;
  t.equal(await write(), 201);
  await services.mongo.data.dropDatabase();
  await until(
    async () => (await services.mongo.data.collection('_policies').countDocuments()) > 0,
    'the policy is back',
  );
  await until(async () => (await write()) === 201, 'it counts');
  t.match((await app.inject('/admin/policies')).json().policies, [{ id: 'open-in-development' }]);
  await app.inject({ method: 'DELETE', url: '/admin/policies/open-in-development' });
  await services.policyRegistry.reloader.reload();
  t.equal(await write(), 401, 'who deletes it has closed the server');
});

t.test('saving a policy warns of operators without their $', async (t) => {
  const { app } = await buildTestApp(t);
  const policy = { ...OWN, name: 'Doubtful', filter: { $or: [{ seq: { gte: 0 } }, { id: { $eq: { in: ['a'] } } }] } };
  const response = await app.inject({ method: 'POST', url: '/admin/policies', payload: policy });
  t.equal(response.statusCode, 201);
  const { warnings, ...saved } = response.json();
  t.strictSame(saved, { id: 'doubtful', ...policy });
  t.match(warnings, [/^'seq' is compared with an object .* 'gte'.*\{"\$gte":5\}/, /^'id' is compared .* 'in'/]);
  const put = (filter: object) =>
    app.inject({ method: 'PUT', url: '/admin/policies/doubtful', payload: { ...policy, filter } });
  t.strictSame((await put(policy.filter)).json().warnings, warnings);
  t.strictSame((await put({ seq: { $gte: 0 } })).json(), { ...saved, filter: { seq: { $gte: 0 } } });
});
