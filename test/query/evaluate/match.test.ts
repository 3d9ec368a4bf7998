/** What `match` rejects: a wrong result about an object that the driver created would be a leak. */
import { DBRef, ObjectId } from 'mongodb';
import t from 'tap';
import { DbPointer } from '../../../src/database/bson/db-pointer.ts';
import { compileMatcher } from '../../../src/query/evaluate/match.ts';
import { fieldFilter } from '../../../src/query/filter.ts';

const requestsFor = (path: string) => compileMatcher(fieldFilter(path, { op: 'in', values: ['x', { a: 'x' }] }));

t.test('an object of a class that is not a BSON type is an error, not a document with fields', async (t) => {
  const reference = new DBRef('x', new ObjectId(), undefined, { a: 'x' });
  t.throws(() => Reflect.apply(requestsFor('collection'), undefined, [reference]), TypeError, 'as the document');
  t.throws(() => requestsFor('a')({ a: reference }), TypeError, 'as the tested value');
  t.throws(() => requestsFor('a.collection')({ a: reference }), TypeError, 'on the way to a value');
  t.throws(() => requestsFor('a.collection')({ a: [reference] }), TypeError, 'in an array');
  t.throws(() => requestsFor('a')({ a: new Map([['a', 'x']]) }), TypeError, 'any other class');
});

t.test('a DBPointer is a value by itself, without fields', async (t) => {
  const document = { a: new DbPointer('x', new ObjectId()) };
  for (const path of ['a', 'a.collection', 'a.$ref', 'a.id']) t.equal(requestsFor(path)(document), false, path);
  t.equal(compileMatcher(fieldFilter('a', { op: 'type', types: ['object'] }))(document), false);
  t.equal(compileMatcher(fieldFilter('a', { op: 'exists', exists: true }))(document), true);
});
