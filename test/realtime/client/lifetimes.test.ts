/** How connections end by time and by number: expired credentials, a full process, heartbeats. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openStream } from '../../helpers/live/event-stream.ts';
import { numberOf } from '../../helpers/live/live-state.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { ask, signInAdmin } from '../../helpers/users.ts';

/** Long enough to open a socket on a busy machine. */
const LIFETIME_MS = 4_000;

t.test('connections end with their credentials and at the limit of the process', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: '300', MILLRACE_MAX_LIVE_CLIENTS: '3' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  await t.test('the end of a credential is announced, and ends the connection', async (t) => {
    const boss = await signInAdmin(app, services);
    const expiresAt = new Date(Date.now() + LIFETIME_MS).toISOString();
    const created = await ask(app, 'POST /admin/keys', { name: 'short', roles: [], expiresAt }, boss);
    t.equal(created.statusCode, 201, created.body);
    const socket = await openSocket(t, url, { hello: { type: 'hello', token: created.json().key } });
    t.match(await socket.frame({ type: 'welcome' }), { principal: { kind: 'key' } });
    const { inMs } = await socket.frame({ type: 'expiring' });
    t.ok(Number(inMs) > 0 && Number(inMs) <= LIFETIME_MS);
    t.match(await socket.frame({ type: 'bye' }), { code: 4502 });
    t.equal((await socket.end()).code, 4502);
  });

  await t.test('an idle client receives the position of the log', async (t) => {
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 's', collection: 'quiet' });
    const live = await socket.frame({ type: 'live' });
    const stream = await openStream(t, `${url}/api/quiet`);
    await stream.event('live');
    for (let n = 0; n < 5; n++) await app.inject({ method: 'POST', url: '/api/busy', payload: {} });
    const beyond = (position: unknown) => numberOf(String(position)) >= numberOf(String(live['position'])) + 5;
    await socket.frame(({ type, position }) => type === 'ping' && beyond(position));
    const ping = await stream.event('ping', ({ id }) => beyond(id));
    t.equal(ping.id, ping.data['position'], 'which is where a stream resumes');
    t.equal(socket.of('s').filter(({ type }) => type === 'change').length, 0);
    socket.socket.close();
    stream.close();
  });

  await t.test('a full process rejects further clients', async (t) => {
    const sockets = [await openSocket(t, url), await openSocket(t, url), await openSocket(t, url)];
    for (const socket of sockets) await socket.frame({ type: 'welcome' });
    t.equal((await (await openSocket(t, url)).end()).code, 4503);
    const { response } = await openStream(t, `${url}/api/quiet`);
    t.equal(response.status, 503);
    t.equal(response.headers.get('retry-after'), '5');
    sockets[0]?.socket.close();
    await sockets[0]?.end();
    const again = await openSocket(t, url);
    await again.frame({ type: 'welcome' });
    t.equal(services.realtime.connections, 3);
  });
});
