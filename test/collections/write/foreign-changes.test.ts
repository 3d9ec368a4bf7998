/**
 * Changes of documents that other programs wrote: which values keep their type at any path, and documents of any size.
 */
import { Decimal128, type Document, ObjectId } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

t.test('changes of documents of other programs', async (t) => {
  const { app, services } = await buildTestApp(t);

  await t.test('array elements keep their types at another position', async (t) => {
    const elements = services.mongo.data.collection<{ _id: string; [field: string]: unknown }>('elements');
    const day = (n: number) => new Date(Date.UTC(2026, 0, n));
    const item = (n: number) => ({
      product: new ObjectId(`${n}`.repeat(24)),
      price: Decimal128.fromString(`${n}.50`),
      n,
    });
    const stored = { dates: [1, 2, 3, 4].map(day), items: [1, 2, 3, 4].map(item), rows: [[day(1)], [day(2), day(3)]] };
    const shown = JSON.parse(
      JSON.stringify(stored, (_name, value: unknown) => (isDecimal(value) ? value.$numberDecimal : value)),
    );
    const [first, second, third, fourth] = shown.items;
    // The sent elements, and which of the stored elements they come from.
    const cases: readonly [name: string, sent: object, members: object][] = [
      ['removed', { dates: shown.dates.slice(1) }, { dates: stored.dates.slice(1) }],
      ['put before', { dates: ['x', ...shown.dates] }, { dates: ['x', ...stored.dates] }],
      ['turned around', { items: shown.items.toReversed() }, { items: stored.items.toReversed() }],
      ['two removed', { items: [second, fourth] }, { items: [item(2), item(4)] }],
      [
        'the first removed, and the next one changed',
        { items: [{ ...second, note: 'new' }, third, fourth] },
        { items: [{ ...item(2), note: 'new' }, item(3), item(4)] },
      ],
      ['changed at its position', { items: [{ ...first, n: 9 }, second] }, { items: [{ ...item(1), n: 9 }, item(2)] }],
      ['arrays in arrays', { rows: [shown.rows[0], shown.rows[1].slice(1)] }, { rows: [[day(1)], [day(3)]] }],
    ];
    const types = { put: 'application/json', merge: 'application/json', json: 'application/json-patch+json' };
    const update = 'application/vnd.millrace.update+json';
    for (const [name, sent, fields] of cases) {
      const [[field, value] = ['']] = Object.entries(sent);
      const ways = [
        ['PUT', types.put, { ...shown, ...sent }],
        ['PATCH', types.merge, sent],
        ['PATCH', types.json, [{ op: 'replace', path: `/${field}`, value }]],
        ['PATCH', types.json, [{ op: 'add', path: `/${field}`, value }]],
        ['PATCH', update, { $set: sent }],
      ] as const;
      for (const [method, type, payload] of ways) {
        await elements.deleteOne({ _id: 'one' });
        await elements.insertOne({ _id: 'one', ...stored });
        const headers = { 'content-type': type };
        const response = await app.inject({
          method,
          url: '/api/elements/one',
          headers,
          payload: JSON.stringify(payload),
        });
        t.equal(response.statusCode, 200, response.body);
        const { _id, _meta, ...after }: Document = (await elements.findOne({ _id: 'one' })) ?? {};
        t.same(after, { ...stored, ...fields }, `${name}: ${method} ${type}`);
      }
    }
  });

  await t.test('a document that is too large to be compared in one command is still changed', async (t) => {
    const large = services.mongo.data.collection<{ _id: string; n: number; filling: string }>('large');
    await large.insertOne({ _id: 'a', n: 0, filling: 'x'.repeat(9_000_000) });
    const minimal = { prefer: 'return=minimal' };
    const update = 'application/vnd.millrace.update+json';
    const ways = [
      { 'content-type': update },
      { 'content-type': update, 'idempotency-key': 'large' },
      { 'content-type': update, 'if-match': '*' },
    ];
    for (const headers of ways) {
      const payload = '{"$inc":{"n":1}}';
      const response = await app.inject({
        method: 'PATCH',
        url: '/api/large/a',
        headers: { ...minimal, ...headers },
        payload,
      });
      t.equal(response.statusCode, 204, response.body);
    }
    const counts = Array.from({ length: 3 }, () =>
      app.inject({
        method: 'PATCH',
        url: '/api/large/a',
        headers: { ...minimal, ...ways[0] },
        payload: '{"$inc":{"n":1}}',
      }),
    );
    t.strictSame(
      (await Promise.all(counts)).map(({ statusCode }) => statusCode),
      [204, 204, 204],
    );
    const { json } = await app.inject('/api/large/a?fields=n');
    t.match(json(), { n: 6, _meta: undefined });
    const stale = await app.inject({
      method: 'PATCH',
      url: '/api/large/a',
      headers: { 'if-match': '"1-x"' },
      payload: {},
    });
    t.equal(stale.statusCode, 412);
  });
});

function isDecimal(value: unknown): value is { $numberDecimal: string } {
  return typeof value === 'object' && value !== null && '$numberDecimal' in value;
}
