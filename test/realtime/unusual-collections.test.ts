/** Collections that others made with options of their own: what can be followed of them is, the rest is refused plainly. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { openSocket } from '../helpers/socket.ts';

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
