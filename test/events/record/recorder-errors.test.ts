/**
 * A database that denies recording: the process is not ready, an operator is notified, and everything else continues.
 */
import { randomBytes } from 'node:crypto';
import type { Document } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { testReplicaSet } from '../../helpers/database/replica-set.ts';
import { until } from '../../helpers/until.ts';

const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });
const REFUSED = { type: 'system.event-log.stopped' };
const position = () => ({ url: set.url, database: `test_${randomBytes(6).toString('hex')}` });

async function refuse(t: import('tap').Test, prepare: (data: import('mongodb').Db) => Promise<unknown>) {
  const here = position();
  const { app, services } = await buildTestApp(t, {}, here);
  const fail = (mode: string, data: Document = {}) =>
    services.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
  t.teardown(() => fail('off'));
  await prepare(services.mongo.data);
  await until(() => services.events.recorder.state.status === 'recording', 'it records');
  const namespace = `${here.database}.$cmd.aggregate`;
  await fail('alwaysOn', { errorCode: 13, failCommands: ['getMore', 'aggregate'], namespace });
  await until(() => services.events.recorder.state.status === 'stopped', 'it stops');
  const ready = await app.inject('/readyz');
  t.equal(ready.statusCode, 503, 'it is not ready');
  t.match(ready.json(), { code: 'database-unavailable' });
  t.equal((await app.inject({ method: 'POST', url: '/api/things', payload: { id: 'a' } })).statusCode, 201);
  return { app, parts: services, here, off: () => fail('off') };
}

t.test('an operator is notified by a document, and by an event once a process can record', async (t) => {
  const { parts: services, here, off } = await refuse(t, async () => undefined);
  const activity = services.mongo.data.collection('_activity');
  await until(async () => (await activity.countDocuments(REFUSED)) === 1, 'it is written down, once');
  t.match(await activity.findOne(REFUSED), {
    type: 'system.event-log.stopped',
    details: { code: '13', recorder: String },
    _meta: { revision: 1, createdAt: Date },
  });
  await off();
  const { app } = await buildTestApp(t, {}, here);
  const reported = async () => {
    const { events } = (await app.inject('/events?since=1-1&types=system.event-log.*')).json();
    return events?.find((one: { type: string }) => one.type === 'system.event-log.stopped');
  };
  await until(async () => (await reported()) !== undefined, 'told');
  t.match(await reported(), { collection: null, data: { details: { code: '13' } } });
  t.equal((await app.inject('/readyz')).statusCode, 200);
});

t.test('if the notification cannot be stored the program continues without it', async (t) => {
  const { app, parts: services } = await refuse(t, (data) =>
    data.command({ collMod: '_activity', validator: { nobody: { $exists: true } } }),
  );
  t.equal(await services.mongo.data.collection('_activity').countDocuments(REFUSED), 0);
  t.equal((await app.inject('/api/things/a')).statusCode, 200);
});
