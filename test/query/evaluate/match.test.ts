/** What `match` refuses to be asked about: a wrong answer about an object of the driver's making would be a leak. */
import { DBRef, ObjectId } from 'mongodb';
import t from 'tap';
import { DbPointer } from '../../../src/database/bson/db-pointer.ts';
import { compileMatch } from '../../../src/query/evaluate/match.ts';
import { field } from '../../../src/query/filter.ts';

const asksFor = (path: string) => compileMatch(field(path, { op: 'in', values: ['x', { a: 'x' }] }));

t.test('an object of a class that is no BSON type is a fault, and not a document with members', async (t) => {
  const reference = new DBRef('x', new ObjectId(), undefined, { a: 'x' });
  t.throws(() => Reflect.apply(asksFor('collection'), undefined, [reference]), TypeError, 'as the document');
  t.throws(() => asksFor('a')({ a: reference }), TypeError, 'as the value that is asked');
  t.throws(() => asksFor('a.collection')({ a: reference }), TypeError, 'on the way to a value');
  t.throws(() => asksFor('a.collection')({ a: [reference] }), TypeError, 'in an array');
  t.throws(() => asksFor('a')({ a: new Map([['a', 'x']]) }), TypeError, 'any other class');
});

t.test('a DBPointer is a value by itself, without members', async (t) => {
  const document = { a: new DbPointer('x', new ObjectId()) };
  for (const path of ['a', 'a.collection', 'a.$ref', 'a.id']) t.equal(asksFor(path)(document), false, path);
  t.equal(compileMatch(field('a', { op: 'type', types: ['object'] }))(document), false);
  t.equal(compileMatch(field('a', { op: 'exists', exists: true }))(document), true);
});
