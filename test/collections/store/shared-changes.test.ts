/**
 * Changes of many documents that share database calls: each has its own outcome, whatever other programs do to the
 * documents at the same time, and a removed document stays removed.
 */
import { ObjectId } from 'mongodb';
import t from 'tap';
import { NO_PRECONDITIONS } from '../../../src/collections/store/preconditions.ts';
import { DocumentStore } from '../../../src/collections/store/store.ts';
import { toStoredChange } from '../../../src/collections/store/stored-change.ts';
import { encodeBsonDocument } from '../../../src/database/bson/stored-document.ts';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { buildTestApp } from '../../helpers/app.ts';

const COUNT = 120;

t.test('each change in a shared call has its own outcome', async (t) => {
  const { app, services } = await buildTestApp(t);
  const things = services.mongo.data.collection('things');
  const ids = Array.from({ length: COUNT }, () => new ObjectId());
  await app.inject({
    method: 'POST',
    url: '/api/things',
    payload: ids.map((id) => ({ id: id.toHexString(), n: 0, foreign: 0 })),
  });

  const patches = ids.map((id) =>
    app.inject({
      method: 'PATCH',
      url: `/api/things/${id.toHexString()}`,
      headers: { 'content-type': 'application/vnd.millrace.update+json' },
      payload: JSON.stringify({ $inc: { n: 1 } }),
    }),
  );
  const foreign = ids.map((_id, index) => {
    if (index % 3 === 0) return things.updateOne({ _id }, { $inc: { foreign: 1 } });
    return index % 3 === 1 ? things.deleteOne({ _id }) : null;
  });
  const responses = await Promise.all(patches);
  await Promise.all(foreign);

  const stored = new Map((await things.find().toArray()).map((found) => [String(found._id), found]));
  for (const [index, id] of ids.entries()) {
    const status = responses[index]?.statusCode;
    const found = stored.get(String(id));
    if (index % 3 === 1) {
      t.ok(status === 200 || status === 404, `document ${index} was changed before it vanished, or was not found`);
      t.notOk(found, `document ${index} stays gone`);
      continue;
    }
    t.equal(status, 200, `document ${index}`);
    t.strictSame(
      [found?.['n'], found?.['foreign'], found?.['_meta'].revision],
      [1, index % 3 === 0 ? 1 : 0, 2],
      `document ${index} has its change once, beside the foreign one`,
    );
  }
});

t.test('a unique index rejects one change and accepts the others', async (t) => {
  const { app, services } = await buildTestApp(t);
  const ids = Array.from({ length: 40 }, (_, index) => `d${index}`);
  await app.inject({ method: 'POST', url: '/api/things', payload: ids.map((id, index) => ({ id, slot: index })) });
  await services.mongo.data.collection('things').createIndex({ slot: 1 }, { unique: true });
  const responses = await Promise.all(
    ids.map((id, index) =>
      app.inject({ method: 'PUT', url: `/api/things/${id}`, payload: { slot: index === 7 ? 8 : index, moved: true } }),
    ),
  );
  t.strictSame(
    responses.map(({ statusCode }) => statusCode),
    ids.map((_id, index) => (index === 7 ? 409 : 200)),
  );
  t.equal(responses[7]?.json().code, 'unique-violation');
});

t.test('a document that was removed after it was read stays removed', async (t) => {
  const { services } = await buildTestApp(t);
  const store = new DocumentStore(services.mongo, 5_000);
  const name = parseCollectionName('things');
  const states = [new Map(Object.entries({ _id: 'a', n: 1 })), new Map([['_id', 'b']])];
  const outcomes = states.flatMap((old) => {
    const [raw, read] = [encodeBsonDocument(old), Object.fromEntries(old)];
    const changes = [{ ...read, n: 2 }, read].map((next) => toStoredChange(raw, read, next, 'replace'));
    return changes.map((change) => store.change(name, change, NO_PRECONDITIONS));
  });
  t.strictSame(await Promise.all(outcomes), [false, false, false, false]);
  t.equal(await services.mongo.data.collection('things').countDocuments(), 0);
});
