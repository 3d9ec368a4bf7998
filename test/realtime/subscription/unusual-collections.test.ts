/**
 * Collections that others created with special options: those that can be followed are, the rest is rejected with a
 * clear error.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { LiveState } from '../../helpers/live/live-state.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';

t.test('collections that cannot be followed are rejected', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { data } = services.mongo;
  const REFUSED = { retryable: false, problem: { status: 403, code: 'forbidden' } };

  await app.inject({ method: 'POST', url: '/api/things', payload: { n: 1 } });
  const since = (await app.inject('/api/things')).headers['millrace-position'];
  await data.createCollection('capped', { capped: true, size: 4096 });
  await data.createCollection('view', { viewOn: 'things', pipeline: [] });
  await data.createCollection('series', { timeseries: { timeField: 't' } });
  const socket = await openSocket(t, url);
  for (const collection of ['capped', 'view', 'series']) {
    for (const [name, more] of Object.entries({ new: {}, back: { since }, window: { since, query: { limit: 1 } } })) {
      await t.test(`${collection}, ${name}`, async (t) => {
        const id = `${collection} ${name}`;
        socket.send({ type: 'subscribe', id, collection, ...more });
        t.match(
          await socket.frame(({ type, id: of }) => of === id && ['live', 'unsubscribed'].includes(type)),
          REFUSED,
        );
      });
    }
  }
  for (const collection of ['things', 'absent']) {
    socket.send({ type: 'subscribe', id: collection, collection, since });
    await socket.frame({ type: 'live', id: collection });
  }
});

t.test('in a collection with a collation texts are compared exactly, in snapshots as in changes', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const people = await services.mongo.data.createCollection<{ _id: string; name: string; n: number }>('people', {
    collation: { locale: 'en', strength: 2 },
  });
  const names = ['ann', 'Bob', 'cy', 'Dan', 'eve', 'Fay'];
  await people.insertMany(names.map((name, n) => ({ _id: `p${n}`, name, n })));
  const window = new LiveState('window', 'name');
  const one = new LiveState('one');
  const socket = await openSocket(t, url);
  socket.onFrame = (frame) => {
    window.take(frame);
    one.take(frame);
  };
  socket.send({ type: 'subscribe', id: 'window', collection: 'people', query: { sort: 'name', limit: 3 } });
  socket.send({ type: 'subscribe', id: 'one', collection: 'people', query: { filter: { name: 'ANN' } } });
  await until(() => window.live && one.live, 'both are live');
  const shown = ({ documents }: LiveState) =>
    [...documents.values()].map((document) => (document as { name: string }).name).sort();
  t.strictSame(shown(window), ['Bob', 'Dan', 'Fay'], 'the window begins in the order of code points');
  t.strictSame(shown(one), [], 'another text is another text');

  await people.updateOne({ _id: 'p0' }, { $set: { name: 'ANN' } });
  await until(() => shown(one).length > 0, 'the document that has come to match enters');
  for (const n of [1, 3, 5]) await people.deleteOne({ _id: `p${n}` });
  await until(() => shown(window).join() === 'ANN,cy,eve', 'the window is filled up in its order');
  t.equal(window.resets + one.resets, 0);
  t.strictSame([...window.issues, ...one.issues], []);
});
