/**
 * Resuming in difficult cases: after a server restart, with a part of one event's frames, and after a stream was reset.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openStream } from '../../helpers/live/event-stream.ts';
import { LiveState, numberOf } from '../../helpers/live/live-state.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';

const WINDOW = { sort: 'n', limit: 2 };

t.test('resuming in difficult cases', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: '500' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const write = async (method: 'POST' | 'DELETE', path: string, payload?: object) => {
    const response = await app.inject({ method, url: `/api/${path}`, ...(payload ? { payload } : {}) });
    t.ok(response.statusCode < 300, response.body);
  };
  const subscribe = async (since: string | null, collection: string, query: object = {}) => {
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 's', collection, query, ...(since === null ? {} : { since }) });
    const live = await socket.frame({ type: 'live' });
    return { socket, position: String(live['position']) };
  };

  await t.test('a server restart is no change of rights for a client that resumes', async (t) => {
    const { position, socket } = await subscribe(null, 'notes');
    await services.mongo.data.command({ collMod: '_policies', changeStreamPreAndPostImages: { enabled: true } });
    await write('POST', 'notes', { id: 'a' });
    await socket.frame({ type: 'change' });
    const back = await subscribe(position, 'notes');
    t.match(back.socket.of('s'), [{ from: 'resume' }, { op: 'enter', documentId: 'a' }, { type: 'live' }]);
  });

  await t.test('a window is complete again if its connection was cut between two frames of one event', async (t) => {
    await write(
      'POST',
      'ranks',
      [1, 2, 3, 4].map((n) => ({ id: `r${n}`, n })),
    );
    const { socket } = await subscribe(null, 'ranks', WINDOW);
    const state = new LiveState('s');
    for (const frame of socket.frames) state.take(frame);
    await write('DELETE', 'ranks/r1');
    const refill = await socket.frame({ op: 'enter' });
    const left = await socket.frame({ op: 'leave' });
    t.equal(left['event'], refill['event']);
    state.take(left);
    const back = await subscribe(String(left['event']), 'ranks', WINDOW);
    for (const frame of back.socket.frames) state.take(frame);
    t.strictSame([...state.documents.keys()].sort(), ['r2', 'r3']);
    t.strictSame(state.issues, []);
    t.equal(state.resets, 0, 'without restarting');

    await write('POST', 'others', {});
    const reported = numberOf(String(left['event']));
    const later = await socket.frame(({ type, position }) => type === 'ping' && numberOf(String(position)) > reported);
    const whole = await subscribe(String(later['position']), 'ranks', WINDOW);
    t.match(
      whole.socket.of('s'),
      [{ from: 'resume' }, { type: 'live' }],
      'a client that has everything receives nothing',
    );
  });

  await t.test('a window that is too large for one turn restarts instead', async (t) => {
    const text = 'x'.repeat(400_000);
    for (const n of [1, 2, 3, 4, 5]) await write('POST', 'pages', { id: `p${n}`, n, text });
    const query = { sort: 'n', limit: 4 };
    const { socket } = await subscribe(null, 'pages', query);
    await write('DELETE', 'pages/p1');
    const left = await socket.frame({ op: 'leave' });
    const back = await subscribe(String(left['event']), 'pages', query);
    const frames = back.socket.of('s');
    t.match(frames[0], { type: 'reset', reason: 'window' });
    t.notOk(frames.some(({ type }) => type === 'change'));
    const shown = frames.flatMap((frame) => (Array.isArray(frame['documents']) ? frame['documents'] : []));
    t.strictSame(
      shown.map(({ id }) => id),
      ['p2', 'p3', 'p4', 'p5'],
    );
  });

  await t.test('a stream that was reset restarts', async (t) => {
    await write('POST', 'items', { id: 'a' });
    const { position } = await subscribe(null, 'items');
    const stream = await openStream(t, `${url}/api/items?since=${position}`, { 'last-event-id': '1-999999' });
    const reset = await stream.event('reset');
    t.match(reset.data, { reason: 'position-unknown' });
    // Cut before the snapshot: a browser reconnects with the last event id that it received, whatever the URL has.
    const back = await openStream(t, `${url}/api/items?since=${position}`, { 'last-event-id': reset.id ?? '1-999999' });
    await back.event('live');
    const [first, second] = back.events.filter(({ event }) => event !== 'ping');
    t.match(first?.data, { from: 'snapshot' });
    t.match(second?.data, { documents: [{ id: 'a' }], last: true });
  });

  await t.test('a heartbeat has no earlier position than was sent', async (t) => {
    await write(
      'POST',
      'ahead',
      [1, 2, 3, 4].map((n) => ({ id: `a${n}`, n })),
    );
    const { position } = await subscribe(null, 'ahead', WINDOW);
    // The window waits for the database, and all live subscriptions with it; one that resumes reads the log by itself.
    const { store } = services.realtime.deps;
    const gate = Promise.withResolvers<void>();
    const byIds = store.byIds.bind(store);
    store.byIds = async (...words) => {
      await gate.promise;
      return await byIds(...words);
    };
    t.teardown(() => gate.resolve());
    await write('DELETE', 'ahead/a1');
    // Rows of the creations may come after the position, too: a snapshot may be ahead of the log.
    const types = async () =>
      (await app.inject(`/api/ahead/_changes?since=${position}`))
        .json()
        .changes.map(({ type }: { type: string }) => type);
    await until(async () => (await types()).includes('ahead.deleted'), 'the row of the deletion');
    const stream = await openStream(t, `${url}/api/ahead?since=${position}`);
    const reported = await stream.event('change');
    // One from before the stream was live has none.
    const ping = await stream.event('ping', ({ id }) => id !== null);
    t.ok(numberOf(ping.id ?? '') >= numberOf(reported.id ?? ''), `${ping.id} behind ${reported.id}`);
    gate.resolve();
  });
});
