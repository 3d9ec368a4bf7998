/**
 * Writes without effect: every way of writing leaves the document, its revision, its entity tag and the event log
 * unchanged, and is checked like any other write.
 */
import { Decimal128, Double, Long } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { watchEvents } from '../../helpers/events/event-watch.ts';
import { hang, hookOf } from '../../helpers/functions/write-hooks.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { MERGE, MINE, PATCH, postsFixture, UPDATE } from '../../helpers/posts.ts';

const STORED = { n: 1, s: 'x', list: [1, 'b', { c: 1 }], o: { z: 1, a: { b: null } }, empty: null };
const CHANGING = { 'content-type': UPDATE };

t.test('a write that changes nothing leaves no trace', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);
  const bytes = async (name = 'things') =>
    (
      await services.mongo.data
        .collection(name)
        .find({}, { raw: true, sort: { _id: 1 } })
        .toArray()
    ).map(String);
  const operations = (...all: object[]) => ({ operations: all });
  const one = '/api/things/a';

  await app.inject({
    method: 'POST',
    url: '/api/things',
    payload: [
      { id: 'a', ...STORED },
      { id: 'b', n: 2 },
    ],
  });
  const read = await app.inject(one);
  const [before, etag] = [await bytes(), String(read.headers['etag'])];
  await watch.created();

  const writes: [what: string, method: 'PUT' | 'PATCH', body: unknown, headers?: object][] = [
    ['PUT as read', 'PUT', read.json()],
    ['PUT of the members alone', 'PUT', STORED],
    ['PUT with an equal If-Match', 'PUT', STORED, { 'if-match': etag }],
    ['PUT with an idempotency key', 'PUT', STORED, { 'idempotency-key': 'k' }],
    ['an empty merge patch', 'PATCH', {}],
    ['the same value', 'PATCH', { n: 1, o: { z: 1, a: {} } }, { 'content-type': MERGE }],
    ['null for an absent field', 'PATCH', { absent: null, o: { absent: null } }],
    ['an empty JSON Patch', 'PATCH', [], { 'content-type': PATCH }],
    ['a test alone', 'PATCH', [{ op: 'test', path: '/n', value: 1 }], { 'content-type': PATCH }],
    ['a replacement by the same', 'PATCH', [{ op: 'replace', path: '/n', value: 1 }], { 'content-type': PATCH }],
    [
      'there and back',
      'PATCH',
      [
        { op: 'add', path: '/t', value: 1 },
        { op: 'remove', path: '/t' },
      ],
      { 'content-type': PATCH },
    ],
    ['$set', 'PATCH', { $set: { n: 1, 'o.z': 1 } }, CHANGING],
    ['$unset', 'PATCH', { $unset: { absent: '' } }, CHANGING],
    ['$addToSet', 'PATCH', { $addToSet: { list: 'b' } }, CHANGING],
    ['$min and $max', 'PATCH', { $min: { n: 5 }, $max: { 'o.z': 0 } }, CHANGING],
    ['$inc by nothing', 'PATCH', { $inc: { n: 0 } }, CHANGING],
    ['$mul by one', 'PATCH', { $mul: { n: 1 } }, CHANGING],
    ['$pull of what is not there', 'PATCH', { $pull: { list: 'q' } }, CHANGING],
    ['$push of nothing', 'PATCH', { $push: { list: { $each: [] } } }, CHANGING],
  ];
  for (const [what, method, payload, headers] of writes) {
    await t.test(what, async (t) => {
      const json = { 'content-type': 'application/json', ...headers };
      const response = await app.inject({ method, url: one, headers: json, payload: JSON.stringify(payload) });
      t.equal(response.statusCode, 200, response.body);
      t.equal(response.body, read.body);
      t.equal(response.headers['etag'], etag);
      t.strictSame(await bytes(), before);
      t.strictSame(await watch.created(), []);
    });
  }

  await t.test('a write without effect is recorded with its idempotency key', async (t) => {
    const headers = { 'idempotency-key': 'k' };
    const again = await app.inject({ method: 'PUT', url: one, headers, payload: STORED });
    t.match(again, { statusCode: 200, body: read.body, headers: { etag, 'idempotency-replayed': 'true' } });
  });

  await t.test('many writes without effect leave no trace beside one that changes', async (t) => {
    const patches = Array.from({ length: 20 }, () => app.inject({ method: 'PATCH', url: one, payload: { n: 1 } }));
    const other = app.inject({ method: 'PATCH', url: '/api/things/b', payload: { n: 3 } });
    for (const response of await Promise.all(patches)) t.equal(response.headers['etag'], etag);
    t.match((await other).json(), { n: 3, _meta: { revision: 2 } });
    t.match(await watch.created(), [{ documentId: 'b', revision: 2 }]);
  });

  await t.test('a write by filter counts what it changed', async (t) => {
    const headers = { prefer: 'max-affected=10' };
    const by = async (payload: object) =>
      (await app.inject({ method: 'PATCH', url: '/api/things?n[gt]=0', headers, payload })).json();
    t.strictSame(await by({ n: 3 }), { matched: 2, modified: 1 });
    t.match(await watch.created(), [{ documentId: 'a', revision: 2 }]);
    const now = await bytes();
    t.strictSame(await by({ n: 3 }), { matched: 2, modified: 0 });
    t.strictSame(await by({}), { matched: 2, modified: 0 });
    t.strictSame(await bytes(), now);
    t.strictSame(await watch.created(), []);
  });

  await t.test('writes without effect in a batch leave no trace, with conditions too', async (t) => {
    const now = await bytes();
    const tag = String((await app.inject(one)).headers['etag']);
    const payload = operations(
      { method: 'PATCH', path: one, body: {} },
      { method: 'PATCH', path: one, body: {}, headers: { 'if-match': tag } },
      { method: 'POST', path: '/api/others', body: { id: 'new' } },
      { method: 'PUT', path: one, body: { ...STORED, n: 3 } },
    );
    const response = await app.inject({ method: 'POST', url: '/batch', payload });
    t.equal(response.statusCode, 200, response.body);
    const tags = response.json().results.map(({ headers }: { headers: Record<string, string> }) => headers['etag']);
    t.strictSame([tags[0], tags[1], tags[3]], [tag, tag, tag]);
    t.strictSame(await bytes(), now);
    t.match(await watch.created(), [{ type: 'others.created', documentId: 'new' }]);
    const stale = operations({ method: 'PATCH', path: one, body: {}, headers: { 'if-match': '"1-x"' } });
    t.equal((await app.inject({ method: 'POST', url: '/batch', payload: stale })).statusCode, 412);
  });

  await t.test('a write without effect checks conditions, ids and bodies', async (t) => {
    const refused = async (method: 'PUT' | 'PATCH', url: string, headers: object, payload: unknown = {}) => {
      const json = { 'content-type': 'application/json', ...headers };
      return (await app.inject({ method, url, headers: json, payload: JSON.stringify(payload) })).statusCode;
    };
    t.equal(await refused('PATCH', one, { 'if-match': '"9-x"' }), 412);
    t.equal(await refused('PATCH', one, { 'if-none-match': (await app.inject(one)).headers['etag'] }), 412);
    t.equal(await refused('PATCH', '/api/things/none', {}), 404);
    t.equal(await refused('PATCH', one, { 'content-type': UPDATE }, { $inc: { s: 0 } }), 400);
    t.equal(await refused('PATCH', one, { 'content-type': PATCH }, [{ op: 'test', path: '/n', value: 9 }]), 409);
    t.strictSame(await watch.created(), []);
  });
});

t.test('values of other programs stay unchanged when they are sent back as read', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);
  const foreign = services.mongo.data.collection<{ _id: string } & Record<string, unknown>>('foreign');
  const values = { at: new Date(5), d: Decimal128.fromString('1.50'), f: new Double(5), l: Long.fromNumber(5), z: -0 };
  await foreign.insertOne({ _id: 'types', ...values, list: [new Date(1), { d: new Double(2) }] });
  const numbers = new Map<string, unknown>([
    ['_id', 'numbers'],
    ['_meta', 'of another program'],
    ['b', new Map(Object.entries({ y: 1 }).concat([['10', 2]], [['2', 3]]))],
    ['7', 1],
    ['id', 'hidden'],
  ]);
  await foreign.insertOne(numbers as never);
  await foreign.insertOne({ _id: 'bare' });
  const bytes = async () => (await foreign.find({}, { raw: true, sort: { _id: 1 } }).toArray()).map(String);
  await watch.created();
  const before = await bytes();
  for (const id of ['types', 'numbers', 'bare']) {
    const read = await app.inject(`/api/foreign/${id}`);
    for (const [method, payload] of [
      ['PUT', read.json()],
      ['PATCH', read.json()],
      ['PATCH', {}],
    ] as const) {
      const headers = { 'if-match': String(read.headers['etag']) };
      const response = await app.inject({ method, url: `/api/foreign/${id}`, payload });
      t.match(response, { statusCode: 200, body: read.body, headers: { etag: read.headers['etag'] } }, id);
      const body = { operations: [{ method, path: `/api/foreign/${id}`, body: payload, headers }] };
      t.match(await app.inject({ method: 'POST', url: '/batch', payload: body }), { statusCode: 200 });
    }
  }
  t.strictSame(await bytes(), before);
  t.strictSame(await watch.created(), []);
  const typed = await app.inject({ method: 'PATCH', url: '/api/foreign/types', payload: { at: 5 } });
  t.match(typed.json(), { at: 5, _meta: { revision: 1 } }, 'another type is a change');
  t.match(await watch.created(), [{ documentId: 'types', changed: ['at'] }]);
});

t.test('an unchanged document with a condition stays unchanged until its batch is committed', async (t) => {
  const { app, services } = await buildTestApp(t);
  await app.inject({ method: 'POST', url: '/api/things', payload: [{ id: 'open' }, { id: 'free' }] });
  const etag = String((await app.inject('/api/things/open')).headers['etag']);
  const outcomes: unknown[] = [];
  /** A transaction fails at once on a conflict that a plain write would wait for. */
  const write = (_id: string) =>
    services.mongo.data.client.withSession(async (session) => {
      session.startTransaction();
      const things = services.mongo.data.collection<{ _id: string }>('things');
      const update = things.updateOne({ _id }, { $set: { n: 2 } }, { session });
      outcomes.push(
        await update.then(
          ({ modifiedCount }) => modifiedCount,
          ({ codeName }) => codeName,
        ),
      );
      await session.abortTransaction();
    });
  const hook = hookOf(() => null);
  const see: typeof hook.check = async (writes, showing) => {
    await write('open');
    await write('free');
    return hook.check(writes, showing);
  };
  hang(services, 'booked', { check: see });
  const operations = [
    { method: 'PATCH', path: '/api/things/open', body: {}, headers: { 'if-match': etag } },
    { method: 'PATCH', path: '/api/things/free', body: {} },
    { method: 'POST', path: '/api/booked', body: { id: 'x' } },
  ];
  const response = await app.inject({ method: 'POST', url: '/batch', payload: { operations } });
  t.equal(response.statusCode, 200, response.body);
  t.strictSame(outcomes, ['WriteConflict', 1]);
  t.equal((await app.inject('/api/things/open')).headers['etag'], etag);
});

t.test('a reader of a part of a document sends that part back, and nothing moves', async (t) => {
  const { parts: services, ann, bob, request, patch, stored, fresh } = await postsFixture(t);
  const watch = await watchEvents(t, services);
  await fresh();
  const posts = services.mongo.data.collection('posts');
  const bytes = async () => (await posts.find({}, { raw: true, sort: { _id: 1 } }).toArray()).map(String);
  const fields = { read: ['*', '-secret', '-address.street', '-title'] };
  const policy = { ...MINE, actions: ['read', 'update'], fields, set: { authorId: '$user.id' } };
  withPolicies(services, [policy]);
  await watch.created();
  const [before, read] = [await bytes(), await request(ann, 'GET', '/api/posts/a')];
  const same = [
    await request(ann, 'PUT', '/api/posts/a', read.json),
    await request(ann, 'PUT', '/api/posts/a', { ...read.json, authorId: 'bob' }),
    await patch(ann, '/api/posts/a', MERGE, {}),
    await patch(ann, '/api/posts/a', PATCH, []),
    await patch(ann, '/api/posts/a', UPDATE, { $unset: { absent: '' } }),
  ];
  for (const response of same) {
    t.match(response, { status: 200, headers: { etag: read.headers.etag } });
    t.strictSame(response.json, read.json);
  }
  t.equal((await request(bob, 'PUT', '/api/posts/a', read.json)).status, 404, 'rights are checked as before');
  t.strictSame(await bytes(), before);
  t.strictSame(await watch.created(), []);

  withPolicies(services, [{ ...policy, set: { seenAt: '$now' } }]);
  t.equal((await patch(ann, '/api/posts/a', MERGE, {})).status, 200);
  t.match((await stored('/api/posts/a'))._meta, { revision: 2 }, 'a value that a policy sets is a change');
  t.match(await watch.created(), [{ type: 'posts.updated', changed: ['seenAt'] }]);
});

t.test('a hook that returns the stored document changes nothing', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);
  await app.inject({ method: 'POST', url: '/api/hooked', payload: { id: 'a', ...STORED } });
  await watch.created();
  hang(
    services,
    'hooked',
    hookOf(({ document }) => document),
    hookOf(() => STORED),
  );
  const read = await app.inject('/api/hooked/a');
  for (const [method, payload] of [
    ['PUT', STORED],
    ['PATCH', {}],
    ['PATCH', { n: 7, more: 1 }],
  ] as const) {
    const response = await app.inject({ method, url: '/api/hooked/a', payload });
    t.match(response, { statusCode: 200, body: read.body, headers: { etag: read.headers['etag'] } });
  }
  const headers = { prefer: 'max-affected=2' };
  const many = await app.inject({ method: 'PATCH', url: '/api/hooked?n=1', headers, payload: { n: 8 } });
  t.strictSame(many.json(), { matched: 1, modified: 0 });
  t.strictSame(await watch.created(), []);
});
