/**
 * A start that fails half way leaves nothing open: no connection, no timer that keeps the process alive. A missing
 * requirement is one clear line.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { loadConfig } from '../src/config/config.ts';
import { createServices } from '../src/services.ts';
import { testMongo } from './helpers/mongo.ts';
import { until } from './helpers/until.ts';

/** Active handles of this process, by kind. */
const open = () => process.getActiveResourcesInfo().sort();

t.test('a start with an unusable file store leaves nothing open', async (t) => {
  const { url, database } = await testMongo(t, { isNew: true });
  const before = open();
  const settings = { MILLRACE_DB: database, MILLRACE_FILE_STORAGE: 's3://bucket?endpoint=http://127.0.0.1:1&region=x' };
  await t.rejects(createServices(loadConfig(settings), url), { name: 'ConfigError' });
  await until(() => open().length <= before.length, 'sockets and timers are closed');
  t.pass('nothing of it keeps the process alive');
});

t.test('a start with the event log of another database leaves nothing open', async (t) => {
  const { url, database } = await testMongo(t, { isNew: true });
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const services = await createServices(loadConfig({ MILLRACE_DB: database }), url);
  await services.close();
  await client
    .db(`${database}_log`)
    .collection('floor')
    .updateOne({}, { $set: { db: 'another' } });
  const before = open();
  await t.rejects(createServices(loadConfig({ MILLRACE_DB: database }), url), {
    message: /belongs to the database 'another'/,
  });
  await until(() => open().length <= before.length, 'sockets and timers are closed');
  t.pass('nothing of it keeps the process alive');
});

t.test('a stop in which two parts fail stops all others, and reports both errors', async (t) => {
  const { url, database } = await testMongo(t, { isNew: true });
  const before = open();
  const services = await createServices(loadConfig({ MILLRACE_DB: database }), url);
  const { realtime, egress } = services;
  const stops = [realtime.close.bind(realtime), egress.close.bind(egress)];
  Object.assign(realtime, { close: () => Promise.reject(new Error('first')) });
  Object.assign(egress, { close: () => Promise.reject(new Error('second')) });
  const failed: unknown = await services.close().catch((error: unknown) => error);
  t.match(failed, { error: { message: 'second' }, suppressed: { message: 'first' } });
  await Promise.all(stops.map((stop) => stop()));
  await until(() => open().length <= before.length, 'sockets and timers are closed');
  await services.close();
});

/** Runs the program after other code, and returns its stderr. */
function errorsOf(before: string, words: readonly string[] = []): Promise<{ code: unknown; errors: string }> {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const hook = `data:text/javascript,${encodeURIComponent(before)}`;
  const env = { ...process.env, NODE_OPTIONS: '', MONGODB_URL: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1' };
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', hook, main, ...words], { env }, (error, _, errors) =>
      resolve({ code: error?.code ?? 0, errors: errors.trim() }),
    );
  });
}

t.test('every command rejects an older Node with one line', async (t) => {
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  for (const words of [[], ['--version'], ['admin']]) {
    const { code, errors } = await errorsOf(older, words);
    t.equal(code, 1);
    t.equal(errors, 'Millrace needs Node 24 or newer, and this is Node 20.20.2. Install a newer one and start again.');
  }
});

t.test('a package that was installed without its optional binary is named in one line', async (t) => {
  const { code, errors } = await errorsOf(`import { registerHooks } from 'node:module';
    registerHooks({ resolve(name, context, next) {
      if (/argon2[-.]/.test(name)) throw Object.assign(new Error('Cannot find module ' + name), { code: 'MODULE_NOT_FOUND' });
      return next(name, context);
    } })`);
  t.equal(code, 1);
  t.match(errors, /^@node-rs[/]argon2 lacks its binary part for .*: npm install --include=optional$/);
});
