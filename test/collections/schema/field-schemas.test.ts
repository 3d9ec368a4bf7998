/**
 * The schemas that a sample of documents gives its fields: types that match all of them, and nothing beyond the sample.
 */
import { BSON } from 'mongodb';
import t from 'tap';
import { describeFields } from '../../../src/collections/schema/collection-list.ts';

const schemaOf = async (...values: readonly unknown[]) => {
  const fields = await describeFields(values.map((m) => BSON.serialize({ m })));
  const { description: _description, ...schema } = Object(fields['m']);
  return schema;
};

t.test('a field gets the types of JSON in the sample, also several', async (t) => {
  t.strictSame(await schemaOf('a'), { type: 'string' });
  t.strictSame(await schemaOf(1, 2), { type: 'integer' });
  t.strictSame(await schemaOf(1, 2.5), { type: 'number' });
  t.strictSame(await schemaOf(true, null), { type: ['boolean', 'null'] });
  t.strictSame(await schemaOf('a', 1), { type: ['string', 'integer'] });
});

t.test('a field that was always null has an empty schema', async (t) => {
  t.strictSame(await schemaOf(null, null), {});
});

t.test('times have a format, unless other strings are among them', async (t) => {
  t.strictSame(await schemaOf('2026-01-01T00:00:00Z', null), { type: ['string', 'null'], format: 'date-time' });
  t.strictSame(await schemaOf('2026-01-01T00:00:00.000Z', 'soon'), { type: 'string' });
});

t.test('arrays describe their elements', async (t) => {
  t.strictSame(await schemaOf([1, 2], [2.5]), { type: 'array', items: { type: 'number' } });
  t.strictSame(await schemaOf([]), { type: 'array', items: {} });
});

t.test('objects describe their fields and allow others', async (t) => {
  t.strictSame(await schemaOf({ a: 1, b: 'x' }, { a: 2 }), {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'string' } },
    additionalProperties: true,
  });
});

t.test('an object whose names never recur is a map', async (t) => {
  t.strictSame(await schemaOf({ deu: 'Deutsch' }, { fra: 'français', nld: 'Nederlands' }), {
    type: 'object',
    additionalProperties: { type: 'string' },
  });
});

t.test('deep and wide documents are described up to a limit', async (t) => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1), x: 1 });
  t.ok(JSON.stringify(await schemaOf(deep(50))).length < 1_000);
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`m${n}`, n]));
  const wide = await describeFields([BSON.serialize(many)]);
  t.equal(Object.keys(wide).length, 200);
});

t.test('a limit on fields leaves out nested ones before those of the document', async (t) => {
  const nested = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`n${n}`, n]));
  const fields = await describeFields([BSON.serialize({ first: nested, last: 1 })]);
  t.match(fields['last'], { type: 'integer' });
});
