/** A window whose next documents take the database too long begins anew: nobody else waits for it for longer than a second. */
import { MongoServerError } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../../src/database/names.ts';
import { unlimited } from '../../../src/policies/scope.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { toLiveQuestion, toRequestedQuestion } from '../../../src/realtime/answer/live-question.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { LiveState } from '../../helpers/live/live-state.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';

const DOCUMENTS = 40;
const DELETED = 34;

t.test('a slow window begins anew, and others are told all meanwhile', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { store } = parts.realtime.parts;
  const behind = store.behind.bind(store);
  let refused = 0;
  store.behind = async (...asked) => {
    const limitMs = asked.at(-1);
    if (typeof limitMs !== 'number') return behind(...asked);
    refused += 1;
    t.ok(limitMs <= 1_000, 'all wait for it a second at most');
    throw new MongoServerError({ message: 'operation exceeded time limit', code: 50 });
  };
  await parts.mongo.data.createCollection('todos', { changeStreamPreAndPostImages: { enabled: true } });
  const todos = parts.mongo.data.collection<{ _id: number }>('todos');
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
  await until(() => left(others)[0] === DELETED, 'the others are told all');
  await until(() => left(window)[0] === DELETED, 'the window has begun anew');
  t.strictSame(left(window), [DELETED, DELETED + 1]);
  t.ok(refused > 0 && window.resets > 0, `the database ran out of time ${refused} times`);
  t.equal(others.resets, 0, 'nobody else had to begin anew');
  t.strictSame([...window.faults, ...others.faults], []);
});

t.test('the database is told the limit, and else the time of a query', async (t) => {
  const { parts } = await buildTestApp(t);
  const { data } = parts.mongo;
  const { store } = parts.realtime.parts;
  // Otherwise images are switched on next to this, and a collection cannot be read as of a moment before that.
  await data.createCollection('todos', { changeStreamPreAndPostImages: { enabled: true } });
  await data.collection('todos').insertOne({});
  await data.command({ profile: 2 });
  const { operationTime } = await data.command({ ping: 1 });
  await store.byIds('todos', [1], operationTime, 750);
  await store.byIds('todos', [2], operationTime);
  await data.command({ profile: 0 });
  const asked = await data.collection('system.profile').find({ 'command.find': 'todos' }).sort({ ts: 1 }).toArray();
  t.strictSame(
    asked.map(({ command }) => command.maxTimeMS),
    [750, parts.config.collections.queryTimeoutMs],
  );
});

t.test('a collection that has been dropped since is not taken for an empty one', async (t) => {
  const { parts } = await buildTestApp(t);
  const { data } = parts.mongo;
  const { store } = parts.realtime.parts;
  await data.collection('todos').insertMany([{ n: 1 }, { n: 2 }]);
  const { operationTime } = await data.command({ ping: 1 });
  await data.dropCollection('todos');
  const asked = toRequestedQuestion(parseQueryJson({ sort: 'n', limit: 1 }), true, new Date());
  const question = toLiveQuestion(parseCollectionName('todos'), asked, unlimited({ kind: 'anonymous' }, 'read'));
  await t.rejects(store.behind(question, null, 1, operationTime), 'who follows is not known any more');
  await t.rejects(store.byIds('todos', [1], operationTime));
});
