/** Collections that others made with options of their own: what can be followed of them is, the rest is refused plainly. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { LiveState } from '../helpers/live-state.ts';
import { openSocket } from '../helpers/socket.ts';
import { until } from '../helpers/until.ts';

t.test('collections that cannot be followed', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { data } = parts.mongo;
  const REFUSED = { retryable: false, problem: { status: 403, code: 'forbidden' } };

  await t.test('a capped one', async (t) => {
    await data.createCollection('capped', { capped: true, size: 4096 });
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 's', collection: 'capped' });
    t.match(await socket.frame({ type: 'unsubscribed' }), REFUSED);
  });
});

t.test('a collection with a collation: texts are what they are, in snapshots as in changes', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const people = await parts.mongo.data.createCollection<{ _id: string; name: string; n: number }>('people', {
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
  t.strictSame([...window.faults, ...one.faults], []);
});
