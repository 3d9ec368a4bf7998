/**
 * A window whose next documents take the database too long restarts: no other subscription waits for it for longer than
 * a second.
 */
import { MongoServerError } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { unlimitedScope } from '../../../src/policies/scope.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { toLiveQuerySpec, toSubscriptionQuery } from '../../../src/realtime/result/live-query-spec.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { LiveState } from '../../helpers/live/live-state.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';

const DOCUMENTS = 40;
const DELETED = 34;

t.test('a slow window restarts, and others receive everything in between', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { store } = services.realtime.deps;
  const behind = store.documentsAfter.bind(store);
  let refused = 0;
  store.documentsAfter = async (...requested) => {
    const limitMs = requested.at(-1);
    if (typeof limitMs !== 'number') return behind(...requested);
    refused += 1;
    t.ok(limitMs <= 1_000, 'all wait for it a second at most');
    throw new MongoServerError({ message: 'operation exceeded time limit', code: 50 });
  };
  await services.mongo.data.createCollection('todos', { changeStreamPreAndPostImages: { enabled: true } });
  const todos = services.mongo.data.collection<{ _id: number }>('todos');
  await todos.insertMany(Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: n })));

  const socket = await openSocket(t, url);
  const window = new LiveState('window');
  const others = new LiveState('others');
  socket.onFrame = (frame) => {
    window.take(frame);
    others.take(frame);
  };
  socket.send({ type: 'subscribe', id: 'window', collection: 'todos', query: { sort: 'id', limit: 2 } });
  socket.send({ type: 'subscribe', id: 'others', collection: 'todos', query: {} });
  await until(() => window.live && others.live, 'both are live');
  for (let n = 0; n < DELETED; n++) await todos.deleteOne({ _id: n });
  const left = (state: LiveState) => [...state.documents.keys()].map(Number).sort((a, b) => a - b);
  await until(() => left(others)[0] === DELETED, 'the others receive everything');
  await until(() => left(window)[0] === DELETED, 'the window has restarted');
  t.strictSame(left(window), [DELETED, DELETED + 1]);
  t.ok(refused > 0 && window.resets > 0, `the database ran out of time ${refused} times`);
  t.equal(others.resets, 0, 'no other subscription had to restart');
  t.strictSame([...window.issues, ...others.issues], []);
});

t.test('the database gets the time limit of a refill, or else that of a query', async (t) => {
  const { services } = await buildTestApp(t);
  const { data } = services.mongo;
  const { store } = services.realtime.deps;
  // Otherwise images are enabled concurrently, and a collection cannot be read as of an earlier time.
  await data.createCollection('todos', { changeStreamPreAndPostImages: { enabled: true } });
  await data.collection('todos').insertOne({});
  await data.command({ profile: 2 });
  const { operationTime } = await data.command({ ping: 1 });
  await store.byIds('todos', [1], operationTime, 750);
  await store.byIds('todos', [2], operationTime);
  await data.command({ profile: 0 });
  const requested = await data.collection('system.profile').find({ 'command.find': 'todos' }).sort({ ts: 1 }).toArray();
  t.strictSame(
    requested.map(({ command }) => command.maxTimeMS),
    [750, services.config.collections.queryTimeoutMs],
  );
});

t.test('a collection that has been dropped since is not mistaken for an empty one', async (t) => {
  const { services } = await buildTestApp(t);
  const { data } = services.mongo;
  const { store } = services.realtime.deps;
  await data.collection('todos').insertMany([{ n: 1 }, { n: 2 }]);
  const { operationTime } = await data.command({ ping: 1 });
  await data.dropCollection('todos');
  const requested = toSubscriptionQuery(parseQueryJson({ sort: 'n', limit: 1 }), true, new Date());
  const query = toLiveQuerySpec(parseCollectionName('todos'), requested, unlimitedScope({ kind: 'anonymous' }, 'read'));
  await t.rejects(store.documentsAfter(query, null, 1, operationTime), 'who follows is not known any more');
  await t.rejects(store.byIds('todos', [1], operationTime));
});
