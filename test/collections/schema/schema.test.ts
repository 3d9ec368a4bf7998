/**
 * The inferred schema of a collection: every field with counts, types, examples and likely references, from documents that the
 * principal may read.
 */
import { Binary, Decimal128, ObjectId } from 'mongodb';
import t from 'tap';
import { inferFields } from '../../../src/collections/schema/infer-fields.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { fieldsOfSchema } from '../../helpers/schema-fields.ts';
import { ask } from '../../helpers/users.ts';

t.test('the schema of a collection', async (t) => {
  const { app, services } = await buildTestApp(t);
  const { data } = services.mongo;
  const schemaOf = async (name: string, as?: { headers: { authorization: string } }) => {
    const schema = (await ask(app, `GET /api/${name}/_schema`, undefined, as)).json();
    return { schema, sampled: schema['x-sampled'], complete: schema['x-complete'], fields: fieldsOfSchema(schema) };
  };
  type Reported = Awaited<ReturnType<typeof schemaOf>>;
  const field = ({ fields }: Reported, path: string) => fields.find((one) => one.path === path);

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
  const orders = await schemaOf('orders');

  await t.test('has each field by path, with its share and its types', async (t) => {
    t.match(orders, { sampled: 4, complete: true });
    t.strictSame(
      orders.fields.map(({ path, documents }) => `${path} ${documents}`).sort(),
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
    t.match(field(orders, 'items'), { types: { array: 3 }, example: undefined });
    t.match(field(orders, 'items[].name'), { types: { string: 2 }, example: /pen|cup/ });
    t.match(field(orders, 'at'), { format: 'date-time', example: '2026-01-01T00:00:00Z' });
    t.match(field(orders, 'at'), { types: { string: 1, null: 1 } }, 'null is a type');
    t.match(field(orders, 'id'), { types: { objectId: Number }, example: /^[0-9a-f]{24}$/ });
    t.equal(field(orders, 'text')?.example, `${'é'.repeat(100)}…`);
  });

  await t.test('the inferred schema names the collections that fields probably reference', async (t) => {
    t.strictSame(
      orders.fields.flatMap(({ path, reference }) => (reference === undefined ? [] : [{ path, reference }])),
      [
        { path: 'customerId', reference: 'customers' },
        { path: 'by.signedBy', reference: 'customers' },
        { path: 'country_code', reference: 'countries' },
      ].sort(
        (a, b) =>
          orders.fields.findIndex(({ path }) => path === a.path) -
          orders.fields.findIndex(({ path }) => path === b.path),
      ),
      'a short text is looked up only where the names are similar',
    );
  });

  await t.test('the inferred schema has the types of other programs', async (t) => {
    await data.collection('foreign').insertMany([
      {
        _id: new ObjectId(),
        when: new Date(0),
        price: Decimal128.fromString('1.5'),
        bytes: new Binary(Buffer.from('x')),
      },
      { customer: new ObjectId(String(customer.id)), when: null },
    ]);
    const foreign = await schemaOf('foreign');
    t.match(field(foreign, 'when'), { example: '1970-01-01T00:00:00.000Z', documents: 2 });
    t.match(field(foreign, 'price'), { types: { number: Number }, example: '1.5' });
    t.match(field(foreign, 'bytes'), { types: { binary: Number } });
    t.match(field(foreign, 'customer'), { types: { objectId: Number }, reference: 'customers' });
  });

  await t.test('the inferred schema samples the newest and some of the other documents', async (t) => {
    await data.collection<{ _id: string }>('many').insertMany(
      Array.from({ length: 3_000 }, (_, n) => ({
        _id: String(n).padStart(5, '0'),
        ...(n < 2_500 ? { old: n } : { young: n }),
      })),
    );
    const many = await schemaOf('many');
    t.equal(many.complete, true);
    t.ok(many.sampled > 500 && many.sampled <= 1_000, `${many.sampled}`);
    t.equal(field(many, 'young')?.documents, 500, 'all of the newest, each once');
    t.ok(Number(field(many, 'old')?.documents) > 100, 'others at random');
  });

  await t.test('the inferred schema leaves out what is too large and says so', async (t) => {
    await ask(app, 'POST /api/large', [{ a: 1 }, { b: 'x'.repeat(100_000) }]);
    const large = await schemaOf('large');
    t.match(large, { sampled: 1, complete: false });
    await ask(app, 'POST /api/wide', Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`m${n}`, n])));
    const wide = await schemaOf('wide');
    t.equal(wide.complete, false);
    t.equal(wide.fields.length, 300);
    await ask(app, 'POST /api/nested', { a: { b: { c: { d: { e: { f: { g: { h: { i: 1 } } } } } } } } });
    t.equal((await schemaOf('nested')).complete, false);
    const raw = await data.collection('orders').findOne({}, { raw: true });
    t.match(
      await inferFields([raw as unknown as Uint8Array], { until: 0, fields: 9, depth: 9 }),
      { complete: false },
      'when the time is over',
    );
  });

  await t.test('the inferred schema describes views, and nothing that does not exist', async (t) => {
    await data.createCollection('cities', {
      viewOn: 'orders',
      pipeline: [{ $group: { _id: '$address.city', n: { $sum: 1 } } }],
    });
    t.match(await schemaOf('cities'), { sampled: 2, fields: [{ path: 'id' }, { path: 'n' }] });
    await data.collection('cities').drop();
    t.equal((await ask(app, 'GET /api/nothing/_schema')).json().code, 'resource-not-available');
    t.equal((await ask(app, 'GET /api/_users/_schema')).json().code, 'invalid-collection-name');
  });

  await t.test('the inferred schema contains only what the principal may read', async (t) => {
    const { key } = (await ask(app, 'POST /admin/keys', { name: 'k', roles: ['looker'] })).json();
    const as = { headers: { authorization: `Bearer ${key}` } };
    const principals = { roles: ['looker'] };
    withPolicies(services, [{ resources: ['customers'], actions: ['create'], principals, mode: 'development' }]);
    t.equal((await ask(app, 'GET /api/orders/_schema', undefined, as)).statusCode, 403);
    const some = { filter: { state: 'de' }, fields: { read: ['customerId', 'address.city', 'items'] } };
    withPolicies(services, [{ resources: ['orders'], actions: ['read'], principals, ...some }]);
    const seen = await schemaOf('orders', as);
    t.strictSame(
      seen.fields.map(({ path }) => path),
      ['id', 'customerId', 'address', 'address.city', 'items', 'items[]', 'items[].name', 'items[].price'],
    );
    t.notOk(JSON.stringify(seen).includes('customers'), 'nor a collection that it may not read');
  });
});
