/** Subscriptions over a socket: snapshot, changes, leave and enter, windows, fields, transactions, and their ends. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';

t.test('subscriptions over a socket', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const create = async (collection: string, body: object) => {
    const response = await app.inject({ method: 'POST', url: `/api/${collection}`, payload: body });
    t.equal(response.statusCode, 201, response.body);
  };
  const patch = (path: string, body: object) => app.inject({ method: 'PATCH', url: `/api/${path}`, payload: body });
  const remove = (path: string) => app.inject({ method: 'DELETE', url: `/api/${path}` });

  await t.test('a collection sends snapshot, live, enter, update and leave', async (t) => {
    await create('todos', [
      { id: 'a', title: 'A', done: false },
      { id: 'b', title: 'B', done: true },
    ]);
    const socket = await openSocket(t, url);
    t.match(await socket.frame({ type: 'welcome' }), {
      principal: { kind: 'anonymous' },
      heartbeatMs: 25_000,
      limits: { subscriptions: 200, frameBytes: 65_536, messagesPerSecond: 50 },
    });
    socket.send({ type: 'subscribe', id: 's1', collection: 'todos', query: { filter: { done: false } } });
    await socket.frame({ type: 'live' });
    await create('todos', { id: 'c', title: 'C', done: false });
    await patch('todos/c', { title: 'C2' });
    await patch('todos/b', { title: 'not seen' });
    await patch('todos/c', { done: true });
    await remove('todos/a');
    await socket.frame({ op: 'leave', reason: 'deleted' });
    const reported = socket.of('s1').filter(({ type }) => type === 'change');
    t.match(reported, [
      { op: 'enter', documentId: 'c', document: { id: 'c', title: 'C', _meta: { revision: 1 } } },
      { op: 'update', documentId: 'c', document: { title: 'C2' }, changed: ['title'] },
      { op: 'leave', documentId: 'c', reason: 'filter' },
      { op: 'leave', documentId: 'a', reason: 'deleted' },
    ]);
    t.equal(reported.length, 4);
    const types = socket.of('s1').map(({ type }) => type);
    t.strictSame(types.slice(0, 3), ['subscribed', 'snapshot', 'live']);
    t.match(socket.of('s1')[1], { documents: [{ id: 'a' }], last: true });
    socket.send({ type: 'unsubscribe', id: 's1' });
    t.strictSame(await socket.frame({ type: 'unsubscribed' }), { type: 'unsubscribed', id: 's1' });
  });

  await t.test('a window refills when a document leaves', async (t) => {
    await create(
      'ranks',
      [1, 2, 3, 4, 5].map((n) => ({ id: `d${n}`, n })),
    );
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 'w', collection: 'ranks', query: { sort: '-n', limit: 2 } });
    await socket.frame({ type: 'live' });
    t.match(socket.of('w')[1], {
      documents: [{ id: 'd5' }, { id: 'd4' }],
      sortKey: [
        [5, 'd5'],
        [4, 'd4'],
      ],
    });
    await remove('ranks/d5');
    const refill = await socket.frame({ op: 'enter' });
    t.match(refill, { documentId: 'd3', document: { n: 3 }, sortKey: [3, 'd3'] });
    t.equal(refill['event'], (await socket.frame({ op: 'leave' }))['event'], 'of one event');
    const from = socket.frames.length;
    await patch('ranks/d1', { n: 9 });
    t.match(await socket.frame({ op: 'leave' }, from), { documentId: 'd3', reason: 'window' });
    t.match(await socket.frame({ op: 'enter' }, from), { documentId: 'd1', sortKey: [9, 'd1'] });
  });

  await t.test('only changes of the requested fields are sent', async (t) => {
    await create('cards', { id: 'x', title: 'T', body: 'long' });
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 'f', collection: 'cards', query: { fields: ['title'] } });
    await socket.frame({ type: 'live' });
    t.strictSame(socket.of('f')[1]?.['documents'], [{ id: 'x', title: 'T' }]);
    await patch('cards/x', { body: 'other' });
    await patch('cards/x', { title: 'U', body: 'third' });
    const change = await socket.frame({ type: 'change' });
    t.match(change, { op: 'update', changed: ['title'] });
    t.strictSame(change['document'], { id: 'x', title: 'U' });
  });

  await t.test('a transaction is one frame', async (t) => {
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 'one', collection: 'orders', query: {} });
    socket.send({ type: 'subscribe', id: 'two', collection: 'lines', query: { filter: { n: { $gt: 1 } } } });
    await socket.frame({ type: 'live', id: 'one' });
    await socket.frame({ type: 'live', id: 'two' });
    await create('orders', { id: 'first' });
    await create('lines', { id: 'first', n: 0 });
    const operations = [
      { method: 'POST', path: '/api/orders', body: { id: 'o' } },
      { method: 'POST', path: '/api/lines', body: { id: 'l1', n: 1 } },
      { method: 'POST', path: '/api/lines', body: { id: 'l2', n: 2 } },
    ];
    const response = await app.inject({ method: 'POST', url: '/batch', payload: { operations } });
    t.equal(response.statusCode, 200, response.body);
    const frame = await socket.frame({ type: 'transaction' });
    t.match(frame['changes'], [
      { id: 'one', op: 'enter', documentId: 'o' },
      { id: 'two', op: 'enter', documentId: 'l2' },
    ]);
  });

  await t.test('events are subscribed by type', async (t) => {
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 'e', events: ['things.*'], filter: { 'data.n': { $gt: 1 } } });
    await socket.frame({ type: 'live' });
    await create('things', { id: 'x', n: 1 });
    await create('things', { id: 'y', n: 2 });
    t.match(await socket.frame({ type: 'event' }), {
      id: 'e',
      event: { type: 'things.created', documentId: 'y', data: { n: 2 } },
    });
    t.equal(socket.of('e').filter(({ type }) => type === 'event').length, 1);
  });

  await t.test('a subscription continues after its collection is dropped', async (t) => {
    await create('plans', { id: 'x' });
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 'd', collection: 'plans' });
    await socket.frame({ type: 'live' });
    await services.mongo.data.dropCollection('plans');
    t.match(await socket.frame({ type: 'reset' }), { reason: 'dropped' });
    await socket.frame(
      (frame) => frame.type === 'live' && socket.of('d').filter((f) => f.type === 'live').length === 2,
    );
    await services.mongo.data.createCollection('plans', { changeStreamPreAndPostImages: { enabled: true } });
    await create('plans', { id: 'y' });
    t.match(await socket.frame({ type: 'change' }), { op: 'enter', documentId: 'y' });
  });
});
