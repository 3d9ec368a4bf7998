/** What a client receives if the database fails while it catches up: a retryable error, and not an internal one. */
import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { testReplicaSet } from '../../helpers/database/replica-set.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';

/** More rows than are read from memory alone. */
const MISSED = 2_500;

t.test('a database failure during catch-up is a retryable error', async (t) => {
  const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });
  const database = `test_${randomBytes(6).toString('hex')}`;
  const { app, services } = await buildTestApp(t, { MILLRACE_QUERY_TIMEOUT_MS: '300' }, { url: set.url, database });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  // A separate MongoDB client: that of the program treats the server as lost while its commands fail.
  const client = new MongoClient(set.url);
  const fail = (mode: string, data: object = {}) =>
    client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
  t.teardown(async () => {
    await fail('off');
    await client.close();
  });
  await app.inject({ method: 'POST', url: '/api/things', payload: { n: 1 } });
  const since = (await app.inject('/api/things')).headers['millrace-position'];
  for (let n = 0; n < MISSED; n += 500) {
    const payload = Array.from({ length: 500 }, () => ({}));
    t.equal((await app.inject({ method: 'POST', url: '/api/others', payload })).statusCode, 201);
  }
  await until(() => services.events.tail.position.number > MISSED, 'all of it is in the log');

  const AWAY = { type: 'unsubscribed', retryable: true, problem: { status: 503, code: 'database-unavailable' } };
  const namespace = (name: string) => ({ namespace: `${database}${name}`, failCommands: ['find'] });
  for (const [name, mode, more] of [
    ['it is interrupted as it reads the log', { ...namespace('_log.log'), errorCode: 11600 }, { since }],
    ['the connection breaks as it reads the log', { ...namespace('_log.log'), closeConnection: true }, { since }],
    ['no reply comes to its first query', { ...namespace('.things'), blockConnection: true, blockTimeMS: 5_000 }, {}],
  ] as const) {
    await t.test(name, async (t) => {
      const socket = await openSocket(t, url);
      await fail('alwaysOn', mode);
      socket.send({ type: 'subscribe', id: 's', collection: 'things', ...more });
      t.match(await socket.frame({ type: 'unsubscribed' }), AWAY);
      await fail('off');
      // The driver treats the server as lost until its next check, which may take longer than a request waits.
      for (let type = ''; type !== 'live'; ) {
        const from = socket.frames.length;
        socket.send({ type: 'subscribe', id: 's', collection: 'things', ...more });
        const reported = await socket.frame((frame) => ['live', 'unsubscribed'].includes(frame.type), from);
        if (reported.type !== 'live') t.match(reported, AWAY);
        type = reported.type;
      }
    });
  }
});
