/**
 * What a collection looks like, as its route tells it: every member by its path with types, examples and likely references, from
 * documents that the asking principal may read.
 */
import { Binary, Decimal128, ObjectId } from 'mongodb';
import t from 'tap';
import { membersOf } from '../../../src/collections/sample/member-shapes.ts';
import { ask } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';

interface Told {
  readonly sampled: number;
  readonly complete: boolean;
  readonly members: readonly { readonly path: string; readonly [name: string]: unknown }[];
}

t.test('the shape of a collection', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const { data } = parts.mongo;
  const shapeOf = async (name: string, as?: { headers: { authorization: string } }): Promise<Told> =>
    (await ask(app, `GET /admin/collections/${name}/shape`, undefined, as)).json();
  const member = (told: Told, path: string) => told.members.find((one) => one.path === path);

  const [customer] = (await ask(app, 'POST /api/customers', [{ name: 'Ada' }, { name: 'Bob' }])).json();
  await ask(app, 'POST /api/countries', [{ id: 'fr' }, { id: 'de' }]);
  await ask(app, 'POST /api/orders', [
    {
      customerId: customer.id,
      by: { signedBy: customer.id },
      country_code: 'de',
      state: 'de',
      at: '2026-01-01T00:00:00Z',
      address: { city: 'Nantes', geo: { lat: 47.2 } },
      items: [
        { name: 'pen', price: 1 },
        { name: 'ink', price: null },
      ],
      tags: ['a', 'b'],
      text: 'é'.repeat(500),
    },
    { customerId: customer.id, at: null, items: [], tags: [1] },
    { customerId: '0'.repeat(24), items: [{ name: 'cup' }], words: { deu: 'ja', fra: 'oui' } },
    { words: { nld: 'ja', eng: 'yes' }, state: 7 },
  ]);
  const orders = await shapeOf('orders');

  await t.test('has each member by path, with its share and its types', async (t) => {
    t.match(orders, { sampled: 4, complete: true });
    t.strictSame(
      orders.members.map(({ path, documents }) => `${path} ${documents}`).sort(),
      [
        'id 4',
        'customerId 3',
        'by 1',
        'by.signedBy 1',
        'country_code 1',
        'state 2',
        'at 2',
        'address 1',
        'address.city 1',
        'address.geo 1',
        'address.geo.lat 1',
        'items 3',
        'items[] 2',
        'items[].name 2',
        'items[].price 1',
        'tags 2',
        'tags[] 2',
        'text 1',
        'words 2',
        'words.* 2',
      ].sort(),
    );
    t.match(member(orders, 'items'), { types: [{ type: 'array', documents: 3 }], example: undefined });
    t.match(member(orders, 'items[].name'), { types: [{ type: 'string', documents: 2 }], example: /pen|cup/ });
    t.match(member(orders, 'at'), { format: 'date-time', example: '2026-01-01T00:00:00Z' });
    t.match(member(orders, 'at'), { types: [{ documents: 1 }, { documents: 1 }] }, 'null is a type');
    t.match(member(orders, 'id'), { types: [{ type: 'objectId' }], example: /^[0-9a-f]{24}$/ });
    t.equal(member(orders, 'text')?.['example'], `${'é'.repeat(100)}…`);
  });

  await t.test('names the collections that members probably refer to', async (t) => {
    t.strictSame(
      orders.members.flatMap(({ path, reference }) => (reference === undefined ? [] : [{ path, reference }])),
      [
        { path: 'customerId', reference: { collection: 'customers' } },
        { path: 'by.signedBy', reference: { collection: 'customers' } },
        { path: 'country_code', reference: { collection: 'countries' } },
      ].sort(
        (a, b) =>
          orders.members.findIndex(({ path }) => path === a.path) -
          orders.members.findIndex(({ path }) => path === b.path),
      ),
      'a short text is looked up only where the names are alike',
    );
  });

  await t.test('tells the types of other programs', async (t) => {
    await data.collection('foreign').insertMany([
      {
        _id: new ObjectId(),
        when: new Date(0),
        price: Decimal128.fromString('1.5'),
        bytes: new Binary(Buffer.from('x')),
      },
      { customer: new ObjectId(String(customer.id)), when: null },
    ]);
    const foreign = await shapeOf('foreign');
    t.match(member(foreign, 'when'), { example: '1970-01-01T00:00:00.000Z', documents: 2 });
    t.match(member(foreign, 'price'), { types: [{ type: 'number' }], example: '1.5' });
    t.match(member(foreign, 'bytes'), { types: [{ type: 'binary' }] });
    t.match(member(foreign, 'customer'), { types: [{ type: 'objectId' }], reference: { collection: 'customers' } });
  });

  await t.test('samples the newest and some of the others', async (t) => {
    await data.collection<{ _id: string }>('many').insertMany(
      Array.from({ length: 3_000 }, (_, n) => ({
        _id: String(n).padStart(5, '0'),
        ...(n < 2_500 ? { old: n } : { young: n }),
      })),
    );
    const many = await shapeOf('many');
    t.equal(many.complete, true);
    t.ok(many.sampled > 500 && many.sampled <= 1_000, `${many.sampled}`);
    t.equal(member(many, 'young')?.['documents'], 500, 'all of the newest, each once');
    t.ok(Number(member(many, 'old')?.['documents']) > 100, 'others at random');
  });

  await t.test('leaves out what is too large and says so', async (t) => {
    await ask(app, 'POST /api/large', [{ a: 1 }, { b: 'x'.repeat(100_000) }]);
    const large = await shapeOf('large');
    t.match(large, { sampled: 1, complete: false });
    await ask(app, 'POST /api/wide', Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`m${n}`, n])));
    const wide = await shapeOf('wide');
    t.equal(wide.complete, false);
    t.equal(wide.members.length, 300);
    await ask(app, 'POST /api/nested', { a: { b: { c: { d: { e: { f: { g: { h: { i: 1 } } } } } } } } });
    t.equal((await shapeOf('nested')).complete, false);
    const raw = await data.collection('orders').findOne({}, { raw: true });
    t.match(await membersOf([raw as unknown as Uint8Array], 0), { complete: false }, 'when the time is over');
  });

  await t.test('describes views, and nothing that does not exist', async (t) => {
    await data.createCollection('cities', {
      viewOn: 'orders',
      pipeline: [{ $group: { _id: '$address.city', n: { $sum: 1 } } }],
    });
    t.match(await shapeOf('cities'), { sampled: 2, members: [{ path: 'id' }, { path: 'n' }] });
    await data.collection('cities').drop();
    t.equal((await ask(app, 'GET /admin/collections/nothing/shape')).json().code, 'resource-not-available');
    t.equal((await ask(app, 'GET /admin/collections/_users/shape')).json().code, 'invalid-name');
  });

  await t.test('shows a principal what it may read', async (t) => {
    const { key } = (await ask(app, 'POST /admin/keys', { name: 'k', roles: ['looker'] })).json();
    const as = { headers: { authorization: `Bearer ${key}` } };
    const principals = { roles: ['looker'] };
    const admin = { collections: ['admin'], actions: ['read'], principals, mode: 'development' };
    withPolicies(parts, [admin]);
    t.equal((await ask(app, 'GET /admin/collections/orders/shape', undefined, as)).statusCode, 403);
    const some = { where: { state: 'de' }, fields: { read: ['customerId', 'address.city', 'items'] } };
    withPolicies(parts, [admin, { collections: ['orders'], actions: ['read'], principals, ...some }]);
    const seen = await shapeOf('orders', as);
    t.strictSame(
      seen.members.map(({ path }) => path),
      ['id', 'customerId', 'address', 'address.city', 'items', 'items[]', 'items[].name', 'items[].price'],
    );
    t.notOk(JSON.stringify(seen).includes('customers'), 'nor a collection that it may not read');
    withPolicies(parts, [{ collections: ['orders'], actions: ['read'], principals }]);
    t.equal((await ask(app, 'GET /admin/collections/orders/shape', undefined, as)).statusCode, 403);
  });
});
