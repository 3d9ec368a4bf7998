/**
 * Documents that could not be written back unchanged: they are readable, they can be deleted and replaced by a new one,
 * and every other change is rejected with a clear error, never with an internal one.
 */
import type { CollectionInfo } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { cstring, element, frame, int32, string } from '../../helpers/database/bson-parts.ts';
import { insertBytes } from '../../helpers/database/foreign-writer.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const NULL = 0x0a;
const binary = (subtype: number, bytes: Buffer) => Buffer.concat([int32(bytes.length), Buffer.of(subtype), bytes]);
const pattern = (text: string, options: string) =>
  Buffer.concat([text, options].map((one) => cstring(Buffer.from(one))));
const looksLikeValue = frame([element(0x02, '_bsontype', string(Buffer.from('ObjectId')))]);
const ODD: Readonly<Record<string, readonly Buffer[]>> = {
  undefined: [element(0x06, 'odd', Buffer.alloc(0))],
  pointer: [element(0x0c, 'odd', Buffer.concat([string(Buffer.from('x')), Buffer.alloc(12, 7)]))],
  text: [element(0x02, 'odd', Buffer.from('02000000ff00', 'hex'))],
  name: [element(NULL, Buffer.from('ff', 'hex'), Buffer.alloc(0))],
  date: [element(0x09, 'odd', Buffer.from('ffffffffffffff7f', 'hex'))],
  repeated: [element(NULL, 'odd', Buffer.alloc(0)), element(0x08, 'odd', Buffer.of(1))],
  inside: [element(0x03, 'in', frame([element(0x06, 'odd', Buffer.alloc(0))]))],
  options: [element(0x0b, 'odd', pattern('a', 'zg'))],
  short: [element(0x05, 'odd', binary(2, Buffer.from('ab')))],
  length: [element(0x05, 'odd', binary(2, Buffer.from('63000000616263', 'hex')))],
  vector: [element(0x05, 'odd', binary(9, Buffer.of(0x27, 9, 1)))],
  meta: [element(0x03, '_meta', frame([element(0x06, 'odd', Buffer.alloc(0))]))],
};

/** What the driver writes only as a Map, or not inside of an object. */
const CHANGEABLE: Readonly<Record<string, readonly Buffer[]>> = {
  type: [element(0x03, 'odd', looksLikeValue)],
  code: [element(0x0f, 'odd', scoped(string(Buffer.from('f')), looksLikeValue))],
  uuid: [element(0x05, 'odd', binary(4, Buffer.from('abc')))],
};

function scoped(code: Buffer, scope: Buffer): Buffer {
  return Buffer.concat([int32(code.length + scope.length + 4), code, scope]);
}

t.test('documents that cannot be written back', async (t) => {
  const testDatabase = await testMongo(t);
  const { app, services } = await buildTestApp(t, {}, testDatabase);
  const names = Object.keys(ODD);
  const put = (collection: string, documents = ODD) =>
    insertBytes(
      testDatabase.url,
      `${testDatabase.database}.${collection}`,
      Object.entries(documents).map(([name, odd]) =>
        frame([element(0x02, '_id', string(Buffer.from(name))), ...odd, element(NULL, 'a', Buffer.alloc(0))]),
      ),
    );

  /** Number of events of one kind, by document. */
  const report = async (collection: string, verb: string, count: number) => {
    const reported = new Map<string, { readonly data: unknown }>();
    for (let since = '1-1'; reported.size < count; ) {
      const { changes, position } = (await app.inject(`/api/${collection}/_changes?since=${since}&wait=10`)).json();
      for (const event of changes) if (event.type === `${collection}.${verb}`) reported.set(event.documentId, event);
      if (position === since) break;
      since = position;
    }
    return reported;
  };

  await t.test('a document that cannot be written back is readable, and its change is rejected', async (t) => {
    await put('shown');
    t.equal((await app.inject('/api/shown')).json().length, names.length);
    for (const name of names) {
      const url = `/api/shown/${name}`;
      t.equal((await app.inject(url)).statusCode, 200, name);
      for (const [method, payload] of [
        ['PATCH', { a: 1 }],
        ['PUT', { a: 1 }],
      ] as const) {
        const response = await app.inject({ method, url, payload });
        t.equal(response.statusCode, 400, `${method} ${name}: ${response.body}`);
        t.match(response.json(), { code: 'unsupported-value' });
      }
    }
    const many = { method: 'PATCH', url: '/api/shown?filter={}', payload: { a: 1 } } as const;
    const result = await app.inject({ ...many, headers: { prefer: 'max-affected=100' } });
    t.match(result.json(), { status: 400, code: 'unsupported-value' });
  });

  await t.test('a document that cannot be written back looks the same whole, in part and in the feed', async (t) => {
    const documents = { ...ODD, ...CHANGEABLE };
    await put('parts', documents);
    const reported = await report('parts', 'created', Object.keys(documents).length);
    for (const name of Object.keys(documents)) {
      const whole = (await app.inject(`/api/parts/${name}`)).json();
      const { a: _a, _meta, ...rest } = whole;
      const url = `/api/parts/${name}?fields=-a,-_meta`;
      t.strictSame((await app.inject(url)).json(), rest, url);
      t.strictSame(reported.get(name)?.data, whole, `the event of ${name}`);
    }
    const listed = await app.inject('/api/parts?expand=a:parts&sort=odd&limit=100');
    t.equal(listed.json().length, Object.keys(documents).length, listed.body.slice(0, 300));
  });

  await t.test('a document can be changed where the driver can write it after all', async (t) => {
    await put('changed', CHANGEABLE);
    for (const name of Object.keys(CHANGEABLE)) {
      const url = `/api/changed/${name}`;
      const { odd } = (await app.inject(url)).json();
      const response = await app.inject({ method: 'PATCH', url, payload: { a: 1 } });
      t.match(response.json(), { odd, a: 1 }, `${name}: ${response.body}`);
    }
  });

  await t.test(
    'a document that cannot be written back can be deleted, alone and by filter, with an event',
    async (t) => {
      await put('gone');
      await put('all');
      const switched = async () => {
        const [gone] = await services.mongo.data.listCollections<CollectionInfo>({ name: 'gone' }).toArray();
        return gone?.options?.['changeStreamPreAndPostImages']?.enabled === true;
      };
      // Without its state it would be unknown which readers may see that a document was deleted.
      await until(switched, 'a collection of another program gets images');
      for (const name of names) {
        const response = await app.inject({ method: 'DELETE', url: `/api/gone/${name}` });
        t.equal(response.statusCode, 204, `${name}: ${response.body}`);
        t.equal((await app.inject(`/api/gone/${name}`)).statusCode, 404, name);
      }
      const headers = { prefer: 'max-affected=100' };
      const result = await app.inject({ method: 'DELETE', url: '/api/all?filter={}', headers });
      t.match(result.json(), { matched: names.length });
      t.strictSame(await services.mongo.data.collection('all').countDocuments(), 0);
      const reported = await report('gone', 'deleted', names.length);
      t.strictSame([...reported.keys()].sort(), [...names].sort(), 'each deletion is an event');
    },
  );

  await t.test(
    'a document that cannot be written back stays only under a condition that needs an exact comparison',
    async (t) => {
      await put('kept');
      const { etag } = (await app.inject('/api/kept/undefined')).headers;
      const headers = { 'if-match': String(etag) };
      const response = await app.inject({ method: 'DELETE', url: '/api/kept/undefined', headers });
      t.match(response.json(), { status: 400, code: 'unsupported-value' });
    },
  );

  await t.test('the deepest document that the database accepts can be read and changed', async (t) => {
    const deep = (depth: number): Buffer => (depth === 0 ? frame([]) : frame([element(0x03, 'a', deep(depth - 1))]));
    await insertBytes(testDatabase.url, `${testDatabase.database}.deep`, [
      frame([element(0x02, '_id', string(Buffer.from('d'))), element(0x03, 'a', deep(150))]),
    ]);
    for (const [method, url] of [
      ['GET', '/api/deep/d'],
      ['PATCH', '/api/deep/d'],
      ['DELETE', '/api/deep/d'],
    ] as const) {
      const response = await app.inject({ method, url, ...(method === 'PATCH' ? { payload: { b: 1 } } : {}) });
      t.ok(response.statusCode < 300, `${method}: ${response.body.slice(0, 200)}`);
    }
  });

  await t.test('writes by filter match documents with ids of any form', async (t) => {
    const id = (inside: readonly Buffer[]) => element(0x03, '_id', frame(inside));
    const one = element(0x10, '1', int32(1));
    const text = (name: string) => element(0x02, name, string(Buffer.from('x')));
    const taken = [
      id([text('_bsontype')]),
      id([text('b'), one]),
      id([element(0x02, '_bsontype', string(Buffer.from('Long'))), one]),
    ];
    await insertBytes(
      testDatabase.url,
      `${testDatabase.database}.met`,
      taken.map((bytes) => frame([bytes])),
    );
    const headers = { prefer: 'max-affected=10' };
    const met = services.mongo.data.collection('met');
    const url = '/api/met?filter={}';
    const changed = await app.inject({ method: 'PATCH', url, headers, payload: { a: 1 } });
    t.strictSame(changed.json(), { matched: taken.length, modified: taken.length });
    t.equal(await met.countDocuments({ a: 1 }), taken.length);
    const gone = await app.inject({ method: 'DELETE', url, headers });
    t.strictSame(gone.json(), { matched: taken.length, modified: taken.length });
    t.equal(await met.countDocuments(), 0);
  });

  await t.test('an id without an exact form in JSON', async (t) => {
    const id = element(0x03, '_id', frame([element(0x06, 'odd', Buffer.alloc(0))]));
    await insertBytes(testDatabase.url, `${testDatabase.database}.ids`, [frame([id])]);
    const [document] = (await app.inject('/api/ids')).json();
    const url = `/api/ids/${encodeURIComponent(document.id)}`;
    const response = await app.inject({ method: 'DELETE', url });
    t.ok(response.statusCode < 500, response.body);
  });
});
