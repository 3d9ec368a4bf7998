/**
 * A start that fails half way leaves nothing open: no connection, no timer that keeps the process alive. What the program lacks of
 * its surroundings is one clear line.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
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

/** Runs the program with code that is run before it, and returns what it printed as errors. */
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

t.test('an older Node is refused with one line, by each command', async (t) => {
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  for (const words of [[], ['--version'], ['owner']]) {
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
