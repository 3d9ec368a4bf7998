/** PATCH by update operators over HTTP: what is applied, what is rejected, and that a rejection changes nothing. */
import { Binary, Decimal128, Long } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { watchEvents } from '../../helpers/events/event-watch.ts';
import { runScenarios } from '../../helpers/scenario.ts';

const UPDATE = { 'content-type': 'application/vnd.millrace.update+json' };

t.test('update operators over HTTP', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);
  const create = (payload: object) => app.inject({ method: 'POST', url: '/api/things', payload });

  await t.test('update operators change a document', async (t) => {
    await create({ id: 'u', n: 1, list: [1, 2], text: 'x' });
    await runScenarios(
      t,
      app,
      [
        {
          name: 'all of them',
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: {
            $inc: { n: 2 },
            $mul: { none: 5 },
            $min: { low: 3 },
            $max: { high: 3 },
            $set: { 'a.b': [{ c: 1 }] },
            $unset: { text: '' },
            $push: { list: { $each: [9, 8], $position: 0, $sort: 1, $slice: 3 } },
            $addToSet: { set: { $each: ['a', 'a', 'b'] } },
            $currentDate: { seen: true },
          },
          status: 200,
          events: ['things.updated'],
          expect: {
            n: 3,
            none: 0,
            low: 3,
            high: 3,
            a: { b: [{ c: 1 }] },
            text: undefined,
            list: [1, 2, 8],
            set: ['a', 'b'],
            seen: /^\d{4}-.*Z$/,
            _meta: { revision: 2 },
          },
        },
        {
          name: '$pull',
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: { $pull: { list: 2, set: 'a' }, $inc: { 'a.b.0.c': -1 } },
          status: 200,
          events: ['things.updated'],
          expect: { list: [1, 8], set: ['b'], a: { b: [{ c: 0 }] } },
        },
        {
          name: '$pull by conditions',
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: { $set: { rows: [{ id: 1, n: 5 }, { id: 2, n: 6 }, 7] } },
          status: 200,
          events: ['things.updated'],
        },
        {
          name: 'on fields and on elements',
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: { $pull: { rows: { id: 2, n: { $gte: 6 } }, list: { $gte: 8 } } },
          status: 200,
          events: ['things.updated'],
          expect: { rows: [{ id: 1, n: 5 }, 7], list: [1] },
        },
        {
          name: 'with an operator that is not known',
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: { $pull: { list: { $gtx: 8 } } },
          status: 400,
          code: 'unknown-operator',
        },
        ...(
          [
            ['no operator', { n: 1 }],
            ['nothing', {}],
            ['an operator that is not known', { $rename: { a: 'b' } }],
            ['no paths', { $inc: 1 }],
            ['no number', { $inc: { n: '1' } }],
            ['a stored value that is no number', { $inc: { set: 1 } }],
            ['a path through a scalar', { $set: { 'n.x': 1 } }],
            ['a name in an array', { $set: { 'list.x': 1 } }],
            ['a path twice', { $set: { n: 1 }, $inc: { n: 1 } }],
            ['a path and a part of it', { $set: { 'a.b': 1 }, $unset: { a: '' } }],
            ['an empty name', { $set: { 'a..b': 1 } }],
            ['a positional operator', { $set: { 'list.$': 1 } }],
            ['a position far behind', { $set: { 'list.100000': 1 } }],
            ['id', { $set: { id: 'x' } }],
            ['_id', { $set: { _id: 'x' } }],
            ['_meta', { $unset: { _meta: '' } }],
            ['inside _meta', { $inc: { '_meta.revision': 1 } }],
            ['$push to no array', { $push: { n: 1 } }],
            ['$slice without $each', { $push: { list: { $slice: 1 } } }],
            ['$each of no array', { $push: { list: { $each: 1 } } }],
            ['a sort by fields', { $push: { list: { $each: [], $sort: { a: 1 } } } }],
            ['$addToSet to no array', { $addToSet: { n: 1 } }],
            ['a timestamp', { $currentDate: { seen: { $type: 'timestamp' } } }],
          ] as const
        ).map(([name, send]) => ({
          name: `rejected: ${name}`,
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send,
          status: 400,
          code: 'invalid-patch',
        })),
        ...['__proto__.x', 'a.__proto__', 'constructor.prototype.x', 'a\0b', 'a._bsontype'].map((path) => ({
          name: `rejected: the name ${JSON.stringify(path)}`,
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: `{"$set":{${JSON.stringify(path)}:1}}`,
          status: 400,
          code: 'unsupported-field-name',
        })),
        {
          name: 'rejected: too deep',
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: { $set: { [Array(101).fill('a').join('.')]: 1 } },
          status: 400,
          code: 'json-too-deep',
        },
        {
          name: 'the error has the position',
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: { $inc: { 'a.b': 1 } },
          status: 400,
          code: 'invalid-patch',
          expect: { detail: "$inc of 'a.b': the stored value is not a number", errors: [{ pointer: '/$inc/a.b' }] },
        },
        {
          name: 'an array as body',
          request: 'PATCH /api/things/u',
          headers: UPDATE,
          send: [],
          status: 400,
          code: 'invalid-body-type',
        },
        {
          name: 'nothing of that was applied',
          request: 'GET /api/things/u',
          status: 200,
          expect: { _meta: { revision: 5 } },
        },
      ],
      watch,
    );
  });

  await t.test('numbers of other programs keep exact arithmetic, other values their types', async (t) => {
    const foreign = services.mongo.data.collection<{ _id: string; [name: string]: unknown }>('things');
    const when = new Date('2026-01-02T03:04:05.678Z');
    await foreign.insertOne({
      _id: 'f',
      big: Long.fromString('9223372036854775806'),
      price: Decimal128.fromString('19.90'),
      when,
      dates: [when, new Date(0)],
      bytes: new Binary(Buffer.from('hello')),
    });
    await runScenarios(
      t,
      app,
      [
        {
          name: 'exact',
          request: 'PATCH /api/things/f',
          headers: UPDATE,
          send: {
            $inc: { big: 1, price: 0.1 },
            $set: { when: when.toISOString() },
            $pull: { dates: when.toISOString() },
          },
          status: 200,
          events: ['things.updated'],
          expect: { big: '9223372036854775807', price: /^20\.0+$/, dates: ['1970-01-01T00:00:00.000Z'] },
        },
        {
          name: 'no overflow',
          request: 'PATCH /api/things/f',
          headers: UPDATE,
          send: { $inc: { big: 1 } },
          status: 400,
          code: 'invalid-patch',
        },
      ],
      watch,
    );
    const stored = await foreign.findOne({ _id: 'f' }, { promoteValues: false });
    t.strictSame(stored?.['when'], when);
    t.strictSame(stored?.['dates'], [new Date(0)]);
    t.match(stored?.['big'], { _bsontype: 'Long' });
    t.match(stored?.['price'], { _bsontype: 'Decimal128' });
    t.match(stored?.['bytes'], { _bsontype: 'Binary' });
  });

  await t.test('32 concurrent increments of one field are 32', async (t) => {
    await create({ id: 'count', n: 0 });
    const responses = await Promise.all(
      Array.from({ length: 32 }, () =>
        app.inject({ method: 'PATCH', url: '/api/things/count', headers: UPDATE, payload: '{"$inc":{"n":1}}' }),
      ),
    );
    t.strictSame(new Set(responses.map((response) => response.statusCode)), new Set([200]));
    t.match((await app.inject('/api/things/count')).json(), { n: 32, _meta: { revision: 33 } });
  });
});
