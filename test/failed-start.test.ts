/** A start that fails half way leaves nothing open: no connection, no timer that keeps the process alive. */
import { MongoClient } from 'mongodb';
import t from 'tap';
import { loadConfig } from '../src/kernel/config/config.ts';
import { makeParts } from '../src/parts.ts';
import { testMongo } from './helpers/mongo.ts';
import { until } from './helpers/until.ts';

/** What keeps this process alive, by kind. */
const open = () => process.getActiveResourcesInfo().sort();

t.test('when the store of files cannot be used', async (t) => {
  const { url, database } = await testMongo(t, { isNew: true });
  const before = open();
  const settings = { MILLRACE_DB: database, MILLRACE_FILES: 's3://bucket?endpoint=http://127.0.0.1:1&region=x' };
  await t.rejects(makeParts(loadConfig(settings), url), { name: 'ConfigError' });
  await until(() => open().length <= before.length, 'sockets and timers are closed');
  t.pass('nothing of it keeps the process alive');
});

t.test('when the event log belongs to another database', async (t) => {
  const { url, database } = await testMongo(t, { isNew: true });
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const parts = await makeParts(loadConfig({ MILLRACE_DB: database }), url);
  await parts.close();
  await client
    .db(`${database}_log`)
    .collection('floor')
    .updateOne({}, { $set: { db: 'another' } });
  const before = open();
  await t.rejects(makeParts(loadConfig({ MILLRACE_DB: database }), url), {
    message: /belongs to the database 'another'/,
  });
  await until(() => open().length <= before.length, 'sockets and timers are closed');
  t.pass('nothing of it keeps the process alive');
});
