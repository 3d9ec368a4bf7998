/**
 * The effect of a write hook's result: stored types are kept, values of policies are set last, and the result is
 * authorized.
 */
import { Decimal128, Double, Int32, Long } from 'mongodb';
import t from 'tap';
import { ANONYMOUS } from '../../src/auth/identity/principal.ts';
import { buildTestApp } from '../helpers/app.ts';
import { hang, hookOf } from '../helpers/functions/write-hooks.ts';
import { beOwned, withPolicies } from '../helpers/policies.ts';
import { speakingAs, user } from '../helpers/principals.ts';

t.test('results of write hooks keep stored types', async (t) => {
  const { app, services } = await buildTestApp(t);
  const typed = services.mongo.data.collection<{ _id: string }>('typed');
  const values = {
    due: new Date(0),
    price: Decimal128.fromString('1.50'),
    whole: new Double(2),
    small: new Int32(3),
    large: Long.fromString('9007199254740993'),
    list: [{ at: new Date(5) }, { at: new Date(6) }],
  };
  await typed.insertOne({ _id: 'a', ...values });
  const stored = () => typed.findOne({ _id: 'a' }, { promoteValues: false, projection: { _meta: 0 } });
  hang(
    services,
    'typed',
    hookOf(({ document }) => ({ ...document, note: 1, list: [{ new: true }, ...Object(document)['list']] })),
  );
  await app.inject({ method: 'PATCH', url: '/api/typed/a', payload: { n: 1 } });
  t.match(await stored(), { ...values, list: [{ new: true }, ...values.list], note: new Int32(1) });

  const typesOf = async () => {
    const document = Object(await stored());
    return ['due', 'price', 'whole', 'small', 'large'].map((name) => Object(document[name]).constructor.name);
  };
  const names = ['Date', 'Decimal128', 'Double', 'Int32', 'Long'];
  t.strictSame(await typesOf(), names);

  hang(
    services,
    'typed',
    hookOf(({ document, before }) => ({ ...document, price: Object(before)['price'] })),
  );
  await app.inject({ method: 'PATCH', url: '/api/typed/a', payload: { price: '9' } });
  t.strictSame(await typesOf(), names, 'also of a value that is put back');
  t.equal(String(Object(await stored())['price']), '1.50');

  await app.inject({
    method: 'PATCH',
    url: '/api/typed/a',
    headers: { 'content-type': 'application/vnd.millrace.update+json' },
    payload: { $currentDate: { changed: true } },
  });
  t.ok(Object(await stored())['changed'] instanceof Date, 'and of one that the change has created');
});

t.test('results of write hooks are authorized', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  await beOwned(services);
  const ann = speakingAs(services)(user('ann'));
  const notes = services.mongo.data.collection<{ _id: string }>('notes');
  const send = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object, headers = ann) =>
    app.inject({ method, url: `/api/notes${path}`, headers, ...(payload === undefined ? {} : { payload }) });
  const allow = (actions: string[], rest: object = {}) =>
    withPolicies(services, [{ resources: ['notes'], actions, ...rest }]);

  await t.test('a write without rights is rejected before any hook sees it', async (t) => {
    const hook = hookOf(() => null);
    hang(services, 'notes', hook);
    await notes.insertOne({ _id: 'others', by: 'bob' } as never);
    allow(['read']);
    for (const [method, path] of [
      ['POST', ''],
      ['PUT', '/others'],
      ['PATCH', '/others'],
      ['DELETE', '/others'],
    ] as const)
      t.equal((await send(method, path, method === 'DELETE' ? undefined : { n: 1 })).statusCode, 403, method);
    t.equal((await send('POST', '', { n: 1 }, {})).statusCode, 401);
    const mine = { filter: { by: '$user.id' } };
    allow(['update', 'delete'], mine);
    t.equal((await send('PATCH', '/others', { n: 1 })).statusCode, 404);
    t.equal((await send('DELETE', '/others')).statusCode, 404);
    allow(['update'], { fields: { write: ['n'] } });
    t.equal((await send('PATCH', '/others', { m: 1 })).statusCode, 403, 'nor what names a member that must not be set');
    t.equal(
      (
        await app.inject({
          method: 'PATCH',
          url: '/api/notes/others',
          headers: { ...ann, 'if-match': '"x"' },
          payload: { n: 1 },
        })
      ).statusCode,
      412,
    );
    t.strictSame(hook.calls, []);
  });

  await t.test('policies are checked on the result', async (t) => {
    allow(['create', 'update', 'read'], { filter: { state: 'open' } });
    hang(
      services,
      'notes',
      hookOf(({ document }) => ({ ...document, state: Object(document)['say'] ?? 'open' })),
    );
    t.equal((await send('POST', '', { id: 'judged', state: 'shut' })).statusCode, 201, 'allowed by the result');
    t.equal((await send('POST', '', { state: 'open', say: 'shut' })).statusCode, 403);
    t.equal((await send('PATCH', '/judged', { say: 'shut' })).statusCode, 403);
    t.equal((await send('PATCH', '/judged', { state: 'shut' })).statusCode, 200);
  });

  await t.test('values of policies are set last', async (t) => {
    allow(['create', 'update', 'read'], { set: { by: '$user.id' } });
    const hook = hookOf(({ document }) => ({ ...document, by: 'bob', x: 1 }));
    hang(services, 'notes', hook, hook);
    t.match((await send('POST', '', { id: 'set', by: 'carl' })).json(), { by: 'ann', x: 1 });
    t.match((await send('PUT', '/set', { by: 'carl' })).json(), { by: 'ann', x: 1 });
    t.ok(
      hook.calls.flat().every(({ document }) => document?.['by'] === 'ann'),
      'and appear so',
    );
  });

  await t.test('members that are hidden or must not be set', async (t) => {
    await notes.insertOne({ _id: 'hidden', secret: 's', price: 5, n: 1 } as never);
    allow(['create', 'read', 'update'], { fields: { read: ['n'], write: ['n'] } });
    const hook = hookOf(({ document }) => document);
    hang(services, 'notes', hook);
    const same = await send('PATCH', '/hidden', { n: 2 });
    t.strictSame(Object.keys(same.json()), ['id', 'n', '_meta'], 'the client sees no more than before');
    t.match(hook.calls[0]?.[0], { document: { secret: 's', price: 5, n: 2 }, before: { secret: 's', n: 1 } });
    hang(
      services,
      'notes',
      hookOf(({ document }) => ({ n: document?.['n'] })),
    );
    await send('PUT', '/hidden', { n: 3 });
    t.match(await notes.findOne({ _id: 'hidden' }), { secret: 's', price: 5, n: 3 }, 'what is left out stays');
    hang(
      services,
      'notes',
      hookOf(({ document }) => ({ ...document, secret: 'other' })),
    );
    for (const refused of [await send('PATCH', '/hidden', { n: 4 }), await send('POST', '', { n: 4 })]) {
      t.equal(refused.json().code, 'field-not-writable');
      t.notMatch(refused.body, /secret/, 'its name is not revealed');
    }
    t.match(await notes.findOne({ _id: 'hidden' }), { secret: 's', n: 3 });
  });

  await t.test('anonymous clients appear as anonymous', async (t) => {
    allow(['create'], { principals: { anonymous: true } });
    const who: unknown[] = [];
    hang(
      services,
      'notes',
      hookOf((_write, { origin }) => {
        who.push(origin.principal);
        return null;
      }),
    );
    t.equal((await send('POST', '', { n: 1 }, {})).statusCode, 201);
    t.strictSame(who, [ANONYMOUS]);
  });
});
