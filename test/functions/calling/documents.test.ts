/** Document operations of functions: the results and errors of HTTP, as the caller or as the function. */
import t from 'tap';
import { requestIdForWrites } from '../../../src/functions/runs/run.ts';
import { callsFixture, type Issue, RUN, refusal, returned } from '../../helpers/functions/calls.ts';
import type { Code, Inside } from '../../helpers/functions/direct-sandbox.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { owner, user } from '../../helpers/principals.ts';

t.test('Functions read and write documents.', async (t) => {
  const { parts: services, call, errors } = await callsFixture(t);
  const run = async (code: Code, requesting?: Parameters<typeof call>[1]) => returned(await call(code, requesting));
  const stored = (id: string) => services.mongo.data.collection<{ _id: string }>('orders').findOne({ _id: id });

  await t.test('Every document operation returns the result of HTTP.', async (t) => {
    const report = await call(async ({ request }) => {
      const orders = { collection: 'orders' };
      t.equal(await request('documents.get', { ...orders, id: 'a' }), null, 'no collection yet');
      t.strictSame(await request('documents.list', orders), { items: [], next: null });
      t.equal(await request('documents.count', orders), 0);
      const a = await request('documents.create', { ...orders, document: { id: 'a', n: 1, at: '2026-01-01' } });
      t.match(a, { id: 'a', n: 1, _meta: { revision: 1 } });
      t.match(await request('documents.replace', { ...orders, id: 'a', document: { n: 2 } }), { id: 'a', n: 2 });
      t.match(await request('documents.patch', { ...orders, id: 'a', changes: { s: 'x', n: null } }), { s: 'x' });
      const patch = [{ op: 'add', path: '/list', value: [1] }];
      t.match(await request('documents.patch', { ...orders, id: 'a', changes: patch }), { s: 'x', list: [1] });
      const changed = await request('documents.update', {
        ...orders,
        id: 'a',
        operators: { $inc: { n: 3 }, $push: { list: 2 } },
      });
      t.match(changed, { n: 3, list: [1, 2], _meta: { revision: 5 } });
      t.strictSame(await request('documents.get', { ...orders, id: 'a' }), changed);
      await request('documents.create', { ...orders, document: { id: 'b', n: 7 } });
      const first = await request('documents.list', { ...orders, sort: '-n', limit: 1, fields: 'n' });
      t.match(first, { items: [{ id: 'b', n: 7 }], next: String });
      const next = first.next ?? '';
      const second = await request('documents.list', { ...orders, sort: '-n', limit: 1, fields: 'n', cursor: next });
      t.strictSame([second.items.map(({ id }) => id), second.next], [['a'], null]);
      t.equal(await request('documents.count', { ...orders, filter: { n: { $gt: 5 } } }), 1);
      t.equal(await request('documents.count', orders), 2);
      t.equal(await request('documents.remove', { ...orders, id: 'b' }), null);
      t.equal(await request('documents.get', { ...orders, id: 'b' }), null);
      const operations = [
        { method: 'POST', path: '/api/orders', body: { id: 'c' }, ref: 'c' },
        { method: 'POST', path: '/api/lines', body: { order: '$c.id' } },
      ];
      t.match(await request('batch', { operations }), {
        results: [{ status: 201 }, { status: 201, body: { order: 'c' } }],
      });
    });
    t.equal(report.outcome.kind, 'value', JSON.stringify(report.outcome));
    t.match(report.operations.slice(0, 5), [
      { operation: 'documents.get', target: 'orders/a', error: null },
      { operation: 'documents.list', target: 'orders', error: null },
      { operation: 'documents.count', target: 'orders', error: null },
      { operation: 'documents.create', target: 'orders', error: null },
      { operation: 'documents.replace', target: 'orders/a', error: null, durationMs: Number },
    ]);
    t.match(await stored('a'), { _meta: { by: 'admin:o1', request: requestIdForWrites(RUN.id, RUN.depth) } });
  });

  await t.test('Document operations fail with the errors of HTTP.', async (t) => {
    await run(async ({ request, raw }) => {
      const orders = { collection: 'orders' };
      const at = { ...orders, id: 'a' };
      t.equal(await refusal(request('documents.create', { ...orders, document: { id: 'a' } })), 'id-exists');
      t.equal(
        await refusal(request('documents.create', { ...orders, document: { _id: 'a' } })),
        'unsupported-field-name',
      );
      t.equal(
        await refusal(request('documents.create', { collection: '_users', document: {} })),
        'invalid-collection-name',
      );
      t.equal(
        await refusal(request('documents.create', { collection: 'a?x=1', document: {} })),
        'invalid-collection-name',
      );
      t.equal(
        await refusal(request('documents.replace', { ...at, document: {}, ifMatch: '"other"' })),
        'precondition-failed',
      );
      t.equal(await refusal(request('documents.replace', { ...orders, id: 'no', document: {} })), 'document-not-found');
      t.equal(await refusal(request('documents.update', { ...at, operators: { $bad: 1 } })), 'invalid-patch');
      t.equal(await refusal(request('documents.list', { ...orders, filter: { n: { $bad: 1 } } })), 'unknown-operator');
      t.equal(await refusal(request('documents.list', { ...orders, limit: 5_000 })), 'invalid-parameter');
      t.equal(await refusal(request('batch', { operations: [] })), 'invalid-body-type');
      for (const bad of ['', '[]', 'null', '{', '{"collection":1}'])
        t.match(await refusal(raw('documents.get', bad)), /malformed-json|invalid-parameter/, bad);
      const deep = `{"collection":"orders","document":{"__proto__":{"n":1}}}`;
      const error = await raw('documents.create', deep).catch((error: unknown) => error);
      t.match(
        error,
        { code: 'unsupported-field-name', issues: [{ pointer: '/__proto__' }] },
        'with pointers into the document',
      );
    });
  });

  await t.test('A function acts as its caller or as itself.', async (t) => {
    withPolicies(services, [
      {
        resources: ['orders'],
        actions: ['read', 'update'],
        filter: { owner: '$user.id' },
        fields: { read: ['n'], write: ['n'] },
      },
      { resources: ['orders'], actions: ['create'], principals: { roles: ['clerk'] }, set: { owner: '$user.id' } },
    ]);
    const both: Code = async ({ request, call: { facts } }: Inside) => {
      const orders = { collection: 'orders' };
      return {
        principal: facts.principal,
        created: await request('documents.create', { ...orders, document: {} }).catch(({ code }: Issue) => code),
        listed: (await request('documents.list', { ...orders, filter: {} })).items.length,
        own: await request('documents.get', { ...orders, id: 'ann' }),
        secret: await refusal(request('documents.patch', { ...orders, id: 'ann', changes: { secret: 2 } })),
        other: await refusal(request('documents.remove', { ...orders, id: 'ann' })),
      };
    };
    await services.mongo.data.collection<{ _id: string }>('orders').deleteMany({});
    await services.mongo.data
      .collection<{ _id: string; owner: string; n: number; secret: number }>('orders')
      .insertOne({ _id: 'ann', owner: 'ann', n: 1, secret: 1 });
    t.match(await run(both, { as: user('ann', [], { team: 'a' }) }), {
      principal: { kind: 'user', id: 'ann', roles: [], claims: { team: 'a' } },
      created: 'forbidden',
      listed: 1,
      own: { id: 'ann', n: 1, secret: undefined },
      secret: 'field-not-writable',
      other: 'forbidden',
    });
    t.match(await run(both, { as: 'function', fn: { roles: ['clerk'] } }), {
      principal: { kind: 'function', id: 'shop/run', roles: ['clerk'], claims: {} },
      created: { n: undefined },
      listed: 1,
      own: null,
      secret: 'document-not-found',
      other: 'forbidden',
    });
    const [mine] = await services.mongo.data.collection('orders').find({ owner: 'shop/run' }).toArray();
    t.match(mine, { _meta: { by: 'function:shop/run', createdBy: 'shop/run' } });
    t.match(await run(({ call }) => call.facts.principal, { as: { kind: 'anonymous' } }), {
      kind: 'anonymous',
      id: null,
    });
  });

  await t.test('A read-only function can read.', async (t) => {
    await run(
      async ({ request }) => {
        const orders = { collection: 'orders' };
        t.match(await request('documents.get', { ...orders, id: 'ann' }), { id: 'ann' });
        const document = {};
        const id = 'ann';
        t.equal(await refusal(request('documents.create', { ...orders, document })), 'forbidden');
        t.equal(await refusal(request('documents.replace', { ...orders, id, document })), 'forbidden');
        t.equal(await refusal(request('documents.patch', { ...orders, id, changes: {} })), 'forbidden');
        t.equal(await refusal(request('documents.update', { ...orders, id, operators: {} })), 'forbidden');
        t.equal(await refusal(request('documents.remove', { ...orders, id })), 'forbidden');
        t.equal(await refusal(request('batch', { operations: [] })), 'forbidden');
        t.equal(await refusal(request('files.create', { name: 'x', text: 'x' })), 'forbidden');
        t.equal(await refusal(request('files.remove', { id: 'x' })), 'forbidden');
        t.equal(await refusal(request('schedule', { name: 'later', input: 1 })), 'forbidden');
      },
      { mayWrite: false, as: owner() },
    );
    t.match(await stored('ann'), { n: 1 });
  });
  t.strictSame(errors, [], 'no unexpected errors');
});
