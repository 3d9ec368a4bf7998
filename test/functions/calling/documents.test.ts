/** Documents for functions: the answers and refusals of HTTP, in the name of the caller or of the function. */
import t from 'tap';
import { requestOfRun } from '../../../src/functions/runs/run.ts';
import { callsWorld, type Fault, RUN, refusal, returned } from '../../helpers/functions/calls.ts';
import type { Code, Inside } from '../../helpers/functions/direct-sandbox.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { owner, user } from '../../helpers/principals.ts';

t.test('documents', async (t) => {
  const { parts, call, errors } = await callsWorld(t);
  const run = async (code: Code, asking?: Parameters<typeof call>[1]) => returned(await call(code, asking));
  const stored = (id: string) => parts.mongo.data.collection<{ _id: string }>('orders').findOne({ _id: id });

  await t.test('every operation has the answer of HTTP', async (t) => {
    const report = await call(async ({ ask }) => {
      const orders = { collection: 'orders' };
      t.equal(await ask('documents.get', { ...orders, id: 'a' }), null, 'no collection yet');
      t.strictSame(await ask('documents.list', orders), { items: [], next: null });
      t.equal(await ask('documents.count', orders), 0);
      const a = await ask('documents.create', { ...orders, document: { id: 'a', n: 1, at: '2026-01-01' } });
      t.match(a, { id: 'a', n: 1, _meta: { revision: 1 } });
      t.match(await ask('documents.replace', { ...orders, id: 'a', document: { n: 2 } }), { id: 'a', n: 2 });
      t.match(await ask('documents.patch', { ...orders, id: 'a', changes: { s: 'x', n: null } }), { s: 'x' });
      const patch = [{ op: 'add', path: '/list', value: [1] }];
      t.match(await ask('documents.patch', { ...orders, id: 'a', changes: patch }), { s: 'x', list: [1] });
      const changed = await ask('documents.update', {
        ...orders,
        id: 'a',
        operators: { $inc: { n: 3 }, $push: { list: 2 } },
      });
      t.match(changed, { n: 3, list: [1, 2], _meta: { revision: 5 } });
      t.strictSame(await ask('documents.get', { ...orders, id: 'a' }), changed);
      await ask('documents.create', { ...orders, document: { id: 'b', n: 7 } });
      const first = await ask('documents.list', { ...orders, sort: '-n', limit: 1, fields: 'n' });
      t.match(first, { items: [{ id: 'b', n: 7 }], next: String });
      const next = first.next ?? '';
      const second = await ask('documents.list', { ...orders, sort: '-n', limit: 1, fields: 'n', cursor: next });
      t.strictSame([second.items.map(({ id }) => id), second.next], [['a'], null]);
      t.equal(await ask('documents.count', { ...orders, filter: { n: { $gt: 5 } } }), 1);
      t.equal(await ask('documents.count', orders), 2);
      t.equal(await ask('documents.remove', { ...orders, id: 'b' }), null);
      t.equal(await ask('documents.get', { ...orders, id: 'b' }), null);
      const operations = [
        { method: 'POST', path: '/api/orders', body: { id: 'c' }, ref: 'c' },
        { method: 'POST', path: '/api/lines', body: { order: '$c.id' } },
      ];
      t.match(await ask('batch', { operations }), {
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
    t.match(await stored('a'), { _meta: { by: 'owner:o1', request: requestOfRun(RUN.id, RUN.depth) } });
  });

  await t.test('refusals are those of HTTP', async (t) => {
    await run(async ({ ask, raw }) => {
      const orders = { collection: 'orders' };
      const at = { ...orders, id: 'a' };
      t.equal(await refusal(ask('documents.create', { ...orders, document: { id: 'a' } })), 'id-exists');
      t.equal(await refusal(ask('documents.create', { ...orders, document: { _id: 'a' } })), 'unsupported-key');
      t.equal(await refusal(ask('documents.create', { collection: '_users', document: {} })), 'invalid-name');
      t.equal(await refusal(ask('documents.create', { collection: 'a?x=1', document: {} })), 'invalid-name');
      t.equal(
        await refusal(ask('documents.replace', { ...at, document: {}, ifMatch: '"other"' })),
        'precondition-failed',
      );
      t.equal(await refusal(ask('documents.replace', { ...orders, id: 'no', document: {} })), 'document-not-found');
      t.equal(await refusal(ask('documents.update', { ...at, operators: { $bad: 1 } })), 'invalid-patch');
      t.equal(await refusal(ask('documents.list', { ...orders, filter: { n: { $bad: 1 } } })), 'unknown-operator');
      t.equal(await refusal(ask('documents.list', { ...orders, limit: 5_000 })), 'invalid-parameter');
      t.equal(await refusal(ask('batch', { operations: [] })), 'body-type');
      for (const bad of ['', '[]', 'null', '{', '{"collection":1}'])
        t.match(await refusal(raw('documents.get', bad)), /malformed-json|invalid-parameter/, bad);
      const deep = `{"collection":"orders","document":{"__proto__":{"n":1}}}`;
      const error = await raw('documents.create', deep).catch((error: unknown) => error);
      t.match(
        error,
        { code: 'unsupported-key', faults: [{ pointer: '/__proto__' }] },
        'with places inside of the document',
      );
    });
  });

  await t.test('as the caller, and as the function itself', async (t) => {
    withPolicies(parts, [
      {
        collections: ['orders'],
        actions: ['read', 'update'],
        where: { owner: '$user.id' },
        fields: { read: ['n'], write: ['n'] },
      },
      { collections: ['orders'], actions: ['create'], principals: { roles: ['clerk'] }, set: { owner: '$user.id' } },
    ]);
    const both: Code = async ({ ask, call: { facts } }: Inside) => {
      const orders = { collection: 'orders' };
      return {
        principal: facts.principal,
        created: await ask('documents.create', { ...orders, document: {} }).catch(({ code }: Fault) => code),
        listed: (await ask('documents.list', { ...orders, filter: {} })).items.length,
        own: await ask('documents.get', { ...orders, id: 'ann' }),
        secret: await refusal(ask('documents.patch', { ...orders, id: 'ann', changes: { secret: 2 } })),
        other: await refusal(ask('documents.remove', { ...orders, id: 'ann' })),
      };
    };
    await parts.mongo.data.collection<{ _id: string }>('orders').deleteMany({});
    await parts.mongo.data
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
    const [mine] = await parts.mongo.data.collection('orders').find({ owner: 'shop/run' }).toArray();
    t.match(mine, { _meta: { by: 'function:shop/run', createdBy: 'shop/run' } });
    t.match(await run(({ call }) => call.facts.principal, { as: { kind: 'anonymous' } }), {
      kind: 'anonymous',
      id: null,
    });
  });

  await t.test('a function that may not write may read', async (t) => {
    await run(
      async ({ ask }) => {
        const orders = { collection: 'orders' };
        t.match(await ask('documents.get', { ...orders, id: 'ann' }), { id: 'ann' });
        const document = {};
        const id = 'ann';
        t.equal(await refusal(ask('documents.create', { ...orders, document })), 'forbidden');
        t.equal(await refusal(ask('documents.replace', { ...orders, id, document })), 'forbidden');
        t.equal(await refusal(ask('documents.patch', { ...orders, id, changes: {} })), 'forbidden');
        t.equal(await refusal(ask('documents.update', { ...orders, id, operators: {} })), 'forbidden');
        t.equal(await refusal(ask('documents.remove', { ...orders, id })), 'forbidden');
        t.equal(await refusal(ask('batch', { operations: [] })), 'forbidden');
        t.equal(await refusal(ask('files.create', { name: 'x', text: 'x' })), 'forbidden');
        t.equal(await refusal(ask('files.remove', { id: 'x' })), 'forbidden');
        t.equal(await refusal(ask('schedule', { name: 'later', input: 1 })), 'forbidden');
      },
      { mayWrite: false, as: owner() },
    );
    t.match(await stored('ann'), { n: 1 });
  });
  t.strictSame(errors, [], 'nothing that nobody expects');
});
