/** A collection that is dropped or renamed during a snapshot: its subscriptions restart. */
import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import t from 'tap';
import { CollectionDropped, resetReasonForError } from '../../../src/realtime/result/snapshot-reader.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';

t.test('a collection dropped during its snapshot', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { data } = services.mongo;
  const text = randomBytes(500_000).toString('hex');
  /** One reply of the database has 16 MB of them. */
  const many = Array.from({ length: 40 }, () => ({ text }));

  const ways: Record<string, (name: string) => Promise<unknown>> = {
    dropped: (name) => data.dropCollection(name),
    renamed: (name) => data.renameCollection(name, `${name}-2`),
    'made anew': async (name) => {
      await data.dropCollection(name);
      await data.collection<{ _id: string }>(name).insertOne({ _id: 'new' });
    },
  };
  for (const [way, change] of Object.entries(ways)) {
    await t.test(way, async (t) => {
      const name = way.replace(' ', '-');
      await data.createCollection(name, { changeStreamPreAndPostImages: { enabled: true } });
      await data.collection(name).insertMany(many);
      const socket = await openSocket(t, url);
      await socket.frame({ type: 'welcome' });
      socket.send({ type: 'subscribe', id: 's', collection: name });
      await socket.frame({ type: 'snapshot' });
      socket.socket.pause();
      const response = await new Promise<IncomingMessage>((resolve) => {
        const request = get(`${url}/api/${name}`, { headers: { accept: 'text/event-stream' } }, resolve);
        t.teardown(() => request.destroy());
        request.on('error', () => {});
      });
      let reported = '';
      await new Promise<void>((resolve) => {
        response.on('data', (chunk) => (reported += chunk)).once('data', () => resolve(void response.pause()));
      });
      await change(name);
      await until(async () => (await services.events.inShort()).behind === 0, 'the log has arrived');

      socket.socket.resume();
      await socket.frame(({ type }) => type === 'live' || type === 'unsubscribed');
      const types = socket.of('s').map(({ type, reason = '', last = '' }) => `${type} ${reason}${last}`.trim());
      const at = types.indexOf('reset dropped');
      t.ok(at > 0 && !types.slice(0, at).includes('snapshot true'), types.slice(0, at).join());
      t.strictSame(types.slice(at + 1), ['subscribed', 'snapshot true', 'live']);
      const ids = socket.of('s').at(-2)?.['documents'];
      t.match(ids, way === 'made anew' ? [{ id: 'new' }] : []);

      response.resume();
      await until(() => /^event: (live|unsubscribed|bye)$/m.test(reported), 'the stream is live');
      t.match(reported, /^event: reset\ndata: {"reason":"dropped"}$/m);
      t.notMatch(reported, /^event: (unsubscribed|bye)$/m);
    });
  }
});

t.test('a collection dropped during the refill of a window', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { store } = services.realtime.deps;
  await services.mongo.data.createCollection('todos', { changeStreamPreAndPostImages: { enabled: true } });
  const todos = services.mongo.data.collection<{ _id: number }>('todos');
  await todos.insertMany(Array.from({ length: 40 }, (_, n) => ({ _id: n })));
  const socket = await openSocket(t, url);
  socket.send({ type: 'subscribe', id: 's', collection: 'todos', query: { limit: 2 } });
  await socket.frame({ type: 'live' });
  const behind = store.documentsAfter.bind(store);
  store.documentsAfter = async (...requested) => {
    store.documentsAfter = behind;
    await todos.drop();
    return behind(...requested);
  };
  const from = socket.frames.length;
  for (let n = 0; n < 20; n++) await todos.deleteOne({ _id: n });
  const reset = await socket.frame({ type: 'reset' }, from);
  t.equal(reset['reason'], 'dropped', 'it is reported as what it is');
  await socket.frame({ type: 'live' }, socket.frames.indexOf(reset));
});

t.test('a dropped collection is no internal error, other failures are', (t) => {
  const reported: unknown[] = [];
  const report = (error: unknown) => reported.push(error);
  t.equal(resetReasonForError(new CollectionDropped('It was dropped'), report), 'dropped');
  t.strictSame(reported, []);
  const other = new Error('No answer');
  t.equal(resetReasonForError(other, report), 'window');
  t.strictSame(reported, [other]);
  t.end();
});
