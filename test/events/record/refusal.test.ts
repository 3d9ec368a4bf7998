/** A database that refuses to be recorded: the process is not ready, an operator is told, and what can go on goes on. */
import { randomBytes } from 'node:crypto';
import type { Document } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { testReplicaSet } from '../../helpers/database/replica-set.ts';
import { until } from '../../helpers/until.ts';

const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });
const REFUSED = { type: 'system.log.refused' };
const place = () => ({ url: set.url, database: `test_${randomBytes(6).toString('hex')}` });

async function refuse(t: import('tap').Test, prepare: (data: import('mongodb').Db) => Promise<unknown>) {
  const here = place();
  const { app, parts } = await buildTestApp(t, {}, here);
  const fail = (mode: string, data: Document = {}) =>
    parts.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
  t.teardown(() => fail('off'));
  await prepare(parts.mongo.data);
  await until(() => parts.events.recorder.state.status === 'recording', 'it records');
  const namespace = `${here.database}.$cmd.aggregate`;
  await fail('alwaysOn', { errorCode: 13, failCommands: ['getMore', 'aggregate'], namespace });
  await until(() => parts.events.recorder.state.status === 'stopped', 'it stops');
  const ready = await app.inject('/readyz');
  t.equal(ready.statusCode, 503, 'it is not ready');
  t.match(ready.json(), { code: 'database-unavailable' });
  t.equal((await app.inject({ method: 'POST', url: '/api/things', payload: { id: 'a' } })).statusCode, 201);
  return { app, parts, here, off: () => fail('off') };
}

t.test('an operator is told by a document, and by an event once somebody may record', async (t) => {
  const { parts, here, off } = await refuse(t, async () => undefined);
  const activity = parts.mongo.data.collection('_activity');
  await until(async () => (await activity.countDocuments(REFUSED)) === 1, 'it is written down, once');
  t.match(await activity.findOne(REFUSED), {
    type: 'system.log.refused',
    details: { code: '13', recorder: String },
    _meta: { revision: 1, createdAt: Date },
  });
  await off();
  const { app } = await buildTestApp(t, {}, here);
  const told = async () => {
    const { events } = (await app.inject('/events?since=1-1&types=system.log.*')).json();
    return events?.find((one: { type: string }) => one.type === 'system.log.refused');
  };
  await until(async () => (await told()) !== undefined, 'told');
  t.match(await told(), { collection: null, data: { details: { code: '13' } } });
  t.equal((await app.inject('/readyz')).statusCode, 200);
});

t.test('where it cannot be written down the program goes on without', async (t) => {
  const { app, parts } = await refuse(t, (data) =>
    data.command({ collMod: '_activity', validator: { nobody: { $exists: true } } }),
  );
  t.equal(await parts.mongo.data.collection('_activity').countDocuments(REFUSED), 0);
  t.equal((await app.inject('/api/things/a')).statusCode, 200);
});
