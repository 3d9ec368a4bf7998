/**
 * Resuming a query whose result changes by time alone: it restarts, because the log does not contain the effect of
 * time.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';

t.test('resuming a query whose result depends on the time restarts', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const due = services.mongo.data.collection('due');
  const hour = 3_600_000;
  await due.insertOne({ at: new Date(Date.now() + hour) });
  const query = { filter: { at: { $lt: '$now' } } };
  const come = async (since?: unknown) => {
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 's', collection: 'due', query, since });
    const { position } = await socket.frame({ type: 'live' });
    const { documents } = await socket.frame({ type: 'snapshot' });
    return { position, documents, frames: socket.of('s') };
  };
  const first = await come();
  t.strictSame(first.documents, []);
  const { Date: RealDate } = globalThis;
  t.teardown(() => (globalThis.Date = RealDate));
  globalThis.Date = class extends RealDate {
    constructor(value?: number) {
      super(value ?? RealDate.now() + 2 * hour);
    }
  } as DateConstructor;
  const second = await come(first.position);
  t.match(second.frames[0], { type: 'reset', reason: 'policy-changed' });
  t.match(second.documents, [{ at: String }], 'documents due by now are sent');
});
