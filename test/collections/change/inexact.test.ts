/**
 * Documents that could not be written back as they are: they are shown, they can be deleted and replaced by a new one,
 * and every other change is refused in words, never with a fault of ours.
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
  const place = await testMongo(t);
  const { app, parts } = await buildTestApp(t, {}, place);
  const names = Object.keys(ODD);
  const put = (collection: string, documents = ODD) =>
    insertBytes(
      place.url,
      `${place.database}.${collection}`,
      Object.entries(documents).map(([name, odd]) =>
        frame([element(0x02, '_id', string(Buffer.from(name))), ...odd, element(NULL, 'a', Buffer.alloc(0))]),
      ),
    );

  /** So many events of one kind, by their document. */
  const tell = async (collection: string, verb: string, count: number) => {
    const told = new Map<string, { readonly data: unknown }>();
    for (let since = '1-1'; told.size < count; ) {
      const { changes, position } = (await app.inject(`/api/${collection}/_changes?since=${since}&wait=10`)).json();
      for (const event of changes) if (event.type === `${collection}.${verb}`) told.set(event.documentId, event);
      if (position === since) break;
      since = position;
    }
    return told;
  };

  await t.test('are shown, and refuse to be changed', async (t) => {
    await put('shown');
    t.equal((await app.inject('/api/shown')).json().length, names.length);
    for (const name of names) {
      const url = `/api/shown/${name}`;
      t.equal((await app.inject(url)).statusCode, 200, name);
      for (const [method, payload] of [
        ['PATCH', { a: 1 }],
        ['PUT', { a: 1 }],
      ] as const) {
        const answer = await app.inject({ method, url, payload });
        t.equal(answer.statusCode, 400, `${method} ${name}: ${answer.body}`);
        t.match(answer.json(), { code: 'unsupported-value' });
      }
    }
    const many = { method: 'PATCH', url: '/api/shown?filter={}', payload: { a: 1 } } as const;
    const answer = await app.inject({ ...many, headers: { prefer: 'max-affected=100' } });
    t.match(answer.json(), { status: 400, code: 'unsupported-value' });
  });

  await t.test('look the same whole, in part and in the feed', async (t) => {
    const documents = { ...ODD, ...CHANGEABLE };
    await put('parts', documents);
    const told = await tell('parts', 'created', Object.keys(documents).length);
    for (const name of Object.keys(documents)) {
      const whole = (await app.inject(`/api/parts/${name}`)).json();
      const { a: _a, _meta, ...rest } = whole;
      const url = `/api/parts/${name}?fields=-a,-_meta`;
      t.strictSame((await app.inject(url)).json(), rest, url);
      t.strictSame(told.get(name)?.data, whole, `the event of ${name}`);
    }
    const listed = await app.inject('/api/parts?expand=a:parts&sort=odd&limit=100');
    t.equal(listed.json().length, Object.keys(documents).length, listed.body.slice(0, 300));
  });

  await t.test('can be changed where the driver writes them after all', async (t) => {
    await put('changed', CHANGEABLE);
    for (const name of Object.keys(CHANGEABLE)) {
      const url = `/api/changed/${name}`;
      const { odd } = (await app.inject(url)).json();
      const answer = await app.inject({ method: 'PATCH', url, payload: { a: 1 } });
      t.match(answer.json(), { odd, a: 1 }, `${name}: ${answer.body}`);
    }
  });

  await t.test('can be deleted, one by one and by filter, and told', async (t) => {
    await put('gone');
    await put('all');
    const switched = async () => {
      const [gone] = await parts.mongo.data.listCollections<CollectionInfo>({ name: 'gone' }).toArray();
      return gone?.options?.['changeStreamPreAndPostImages']?.enabled === true;
    };
    // Without its state nobody could say who may see that a document has gone.
    await until(switched, 'a collection made by others keeps images');
    for (const name of names) {
      const answer = await app.inject({ method: 'DELETE', url: `/api/gone/${name}` });
      t.equal(answer.statusCode, 204, `${name}: ${answer.body}`);
      t.equal((await app.inject(`/api/gone/${name}`)).statusCode, 404, name);
    }
    const headers = { prefer: 'max-affected=100' };
    const answer = await app.inject({ method: 'DELETE', url: '/api/all?filter={}', headers });
    t.match(answer.json(), { matched: names.length });
    t.strictSame(await parts.mongo.data.collection('all').countDocuments(), 0);
    const told = await tell('gone', 'deleted', names.length);
    t.strictSame([...told.keys()].sort(), [...names].sort(), 'each deletion is an event');
  });

  await t.test('only under a condition that has to be compared exactly they stay', async (t) => {
    await put('kept');
    const { etag } = (await app.inject('/api/kept/undefined')).headers;
    const headers = { 'if-match': String(etag) };
    const answer = await app.inject({ method: 'DELETE', url: '/api/kept/undefined', headers });
    t.match(answer.json(), { status: 400, code: 'unsupported-value' });
  });

  await t.test('the deepest document that the database takes is read and changed', async (t) => {
    const deep = (depth: number): Buffer => (depth === 0 ? frame([]) : frame([element(0x03, 'a', deep(depth - 1))]));
    await insertBytes(place.url, `${place.database}.deep`, [
      frame([element(0x02, '_id', string(Buffer.from('d'))), element(0x03, 'a', deep(150))]),
    ]);
    for (const [method, url] of [
      ['GET', '/api/deep/d'],
      ['PATCH', '/api/deep/d'],
      ['DELETE', '/api/deep/d'],
    ] as const) {
      const answer = await app.inject({ method, url, ...(method === 'PATCH' ? { payload: { b: 1 } } : {}) });
      t.ok(answer.statusCode < 300, `${method}: ${answer.body.slice(0, 200)}`);
    }
  });

  await t.test('by filter documents are met whatever their ids look like', async (t) => {
    const id = (inside: readonly Buffer[]) => element(0x03, '_id', frame(inside));
    const one = element(0x10, '1', int32(1));
    const text = (name: string) => element(0x02, name, string(Buffer.from('x')));
    const taken = [
      id([text('_bsontype')]),
      id([text('b'), one]),
      id([element(0x02, '_bsontype', string(Buffer.from('Long'))), one]),
    ];
    await insertBytes(
      place.url,
      `${place.database}.met`,
      taken.map((bytes) => frame([bytes])),
    );
    const headers = { prefer: 'max-affected=10' };
    const met = parts.mongo.data.collection('met');
    const url = '/api/met?filter={}';
    const changed = await app.inject({ method: 'PATCH', url, headers, payload: { a: 1 } });
    t.strictSame(changed.json(), { matched: taken.length, modified: taken.length });
    t.equal(await met.countDocuments({ a: 1 }), taken.length);
    const gone = await app.inject({ method: 'DELETE', url, headers });
    t.strictSame(gone.json(), { matched: taken.length, modified: taken.length });
    t.equal(await met.countDocuments(), 0);
  });

  await t.test('an id that cannot be said back exactly', async (t) => {
    const id = element(0x03, '_id', frame([element(0x06, 'odd', Buffer.alloc(0))]));
    await insertBytes(place.url, `${place.database}.ids`, [frame([id])]);
    const [document] = (await app.inject('/api/ids')).json();
    const url = `/api/ids/${encodeURIComponent(document.id)}`;
    const answer = await app.inject({ method: 'DELETE', url });
    t.ok(answer.statusCode < 500, answer.body);
  });
});
