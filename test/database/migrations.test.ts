/** The schema version: killed steps, newer and older data, and databases of other programs. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Document, MongoClient } from 'mongodb';
import t from 'tap';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import { MIGRATIONS } from '../../src/database/migrations.ts';
import { connectMongo } from '../../src/database/mongo.ts';
import { UnusableDatabase } from '../../src/database/startup-error.ts';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { onlyLong } from '../helpers/long-profile.ts';
import { startMillrace, withoutSettings } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';

const NEWEST = MIGRATIONS.length;
const { url } = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });
const client = new MongoClient(url);
t.teardown(() => client.close());

const newName = () => `test_${randomBytes(6).toString('hex')}`;
const rowOf = (database: string) =>
  client
    .db(database)
    .collection<Document>('_settings')
    .findOne({ _id: 'schema' as never });
const isLogThere = async (database: string) =>
  (await client.db(`${database}_log`).listCollections().toArray()).length > 0;

/** Creates a database that a program of this version has used. */
async function used(): Promise<string> {
  const database = newName();
  const mongo = await connectMongo({ url, database });
  await mongo.data.collection('_users').insertOne({ names: ['ann'] });
  await mongo.log.collection('log').insertOne({ n: 1 });
  await mongo.close();
  return database;
}

/** The content of the three databases. */
async function contents(database: string, at = client): Promise<Document> {
  const found: Document = {};
  for (const end of ['', '_log', '_files']) {
    const db = at.db(`${database}${end}`);
    for (const info of await db.listCollections().toArray()) {
      const collection = db.collection(info.name);
      found[`${end}.${info.name}`] = [info, await collection.indexes(), await collection.find().toArray()];
    }
  }
  return found;
}

/** Runs a file of this repository and collects what it prints. */
function run(file: string, words: readonly string[], settings: Record<string, string> = {}) {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...words], {
    env: { ...withoutSettings(process.env), PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20_000,
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, ended, stdout: () => stdout, stderr: () => stderr };
}

/** Why a database is rejected. */
async function refusal(database: string): Promise<string> {
  return await connectMongo({ url, database }).then(
    (mongo) => mongo.close().then(() => 'It was opened'),
    (error: Error) => (error instanceof UnusableDatabase ? error.message : String(error)),
  );
}

/** What the server and a command print when they reject a database. */
async function printed(database: string): Promise<string[]> {
  const programs = [[], ['signing-keys', 'rotate']].map((words) =>
    run('src/main.ts', words, { MONGODB_URL: url, MILLRACE_DB: database }),
  );
  return await Promise.all(programs.map(async (it) => `${await it.ended} ${it.stderr().trim()}`));
}

t.test('A server killed in the middle of a step is followed by two at once that complete it once', async (t) => {
  const database = newName();
  const settings = { MONGODB_URL: url, MILLRACE_DB: database };
  const admin = client.db('admin');
  const data = {
    failCommands: ['create'],
    namespace: `${database}._settings`,
    blockConnection: true,
    blockTimeMS: 2_000,
  };
  const failPoint = await admin.command({ configureFailPoint: 'failCommand', mode: { times: 1 }, data });
  const first = run('src/main.ts', [], settings);
  await admin.command({ waitForFailPoint: 'failCommand', timesEntered: failPoint['count'] + 1, maxTimeMS: 20_000 });
  first.child.kill('SIGKILL');
  await first.ended;

  const start = () => startMillrace(t, { folder: '', env: settings });
  const starting = Promise.all([start(), start()]);
  const names = async () => (await client.db(database).listCollections().toArray()).map(({ name }) => name);
  await until(async () => (await names()).length > 0, 'what the killed server had requested is done');
  t.strictSame([await names(), await rowOf(database)], [['_settings'], null], 'the step is half done');
  const programs = await starting;
  for (const program of programs) t.equal((await fetch(`${program.url}/readyz`)).status, 200);
  t.match(await rowOf(database), { version: NEWEST, migrations: { length: NEWEST } });
  await Promise.all(programs.map((program) => program.end('SIGTERM')));
});

t.test('A step killed between two documents changes each document once when two processes repeat it', async (t) => {
  const database = await used();
  const people = client.db(database).collection<Document>('people');
  await people.insertMany([1, 2, 3].map((_id) => ({ _id: _id as never })));
  const start = (word: string) => run('test/helpers/programs/migrate.ts', [url, database, word]);
  const log = client.db(`${database}_log`);
  await log.command({ profile: 2 });
  const requests = { ns: `${database}_log.lease`, 'command.findAndModify': 'lease' };
  const first = start('pause');
  await until(() => first.stdout().includes('counted'), 'it is in the middle');
  const programs = [start('one'), start('two')];
  for (const appName of ['one', 'two']) {
    const request = () => log.collection('system.profile').findOne({ ...requests, appName });
    await until(async () => (await request()) !== null, `${appName} has requested the lease`);
  }
  first.child.kill('SIGKILL');
  await first.ended;
  t.match(await rowOf(database), { version: NEWEST }, 'an interrupted step raises no version');

  t.strictSame(await Promise.all(programs.map(({ ended }) => ended)), [0, 0]);
  const lines = programs.map((program) => program.stdout()).sort();
  t.strictSame(lines, ['', 'run\ncounted\ncounted\n'], 'one of them repeats the step, the other one waits');
  t.strictSame(
    (await people.find().toArray()).map(({ counted }) => counted),
    [1, 1, 1],
  );
  const row = await rowOf(database);
  t.match(row, { version: NEWEST + 1, _meta: { revision: NEWEST + 1, by: null } });
  t.strictSame(
    row?.['migrations'].map(({ version, name }: Document) => [version, name]),
    [...MIGRATIONS.map(({ version, name }) => [version, name]), [NEWEST + 1, 'count-people']],
  );

  t.match(await refusal(database), /written by a newer version/, 'the version before the step rejects it now');
});

t.test('A newer form is rejected and stays unchanged', async (t) => {
  const database = await used();
  await client
    .db(database)
    .collection('_settings')
    .updateOne({}, { $set: { version: 99 } });
  const before = await contents(database);
  const sentence =
    `The database '${database}' was written by a newer version of Millrace (its schema version is 99, this program ` +
    `knows ${NEWEST}); update Millrace, or restore a backup from before the update.`;
  t.strictSame(await printed(database), [`1 ${sentence}`, `1 ${sentence}`], 'by the server and by a command');
  t.strictSame(await contents(database), before);
});

t.test('A form without a version, or of other migrations, is rejected and stays unchanged', async (t) => {
  const sentence = (database: string) =>
    `The database '${database}' was written by an unreleased version of Millrace and cannot be migrated; start with ` +
    'another database or another data folder.';
  const withoutRow = await used();
  await client.db(withoutRow).collection('_settings').deleteOne({});
  const withoutLog = newName();
  await client.db(withoutLog).collection('_policies').insertOne({ name: 'p' });
  const onlyStarted = newName();
  const format = client.db(`${onlyStarted}_log`).collection<Document>('format');
  await format.insertOne({ _id: 'format' as never, version: 1 });
  const withOtherSteps = await used();
  await client
    .db(withOtherSteps)
    .collection('_settings')
    .updateOne({}, { $set: { 'migrations.0.name': 'create-settings' } });
  for (const database of [withoutRow, withoutLog, onlyStarted, withOtherSteps]) {
    const before = await contents(database);
    t.equal(await refusal(database), sentence(database));
    t.strictSame(await contents(database), before);
  }
});

// What the program prints, and that nothing changes, is tested above with a connection string.
t.test('A data folder without a version is rejected and stays unchanged', onlyLong, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-unversioned-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const contentsNow = async (change: (client: MongoClient) => Promise<unknown>) => {
    const embedded = await startEmbeddedDatabase({ folder, binary: process.env['MONGOD_BINARY'] });
    const own = new MongoClient(embedded.url);
    await change(own);
    const found = await contents('millrace', own);
    await own.close();
    await embedded.stop();
    return found;
  };
  const before = await contentsNow(async (own) => {
    await own
      .db('millrace')
      .collection('_users')
      .insertOne({ names: ['ann'] });
    await own.db('millrace').collection('todos').insertOne({ text: 'kept' });
  });
  const program = run('src/main.ts', [], { MILLRACE_DATA_DIR: folder });
  t.equal(await program.ended, 1);
  t.equal(
    program.stderr().trim(),
    "The database 'millrace' was written by an unreleased version of Millrace and cannot be migrated; start with " +
      'another database or another data folder.',
  );
  t.strictSame(await contentsNow(() => Promise.resolve()), before);
});

t.test('A database of another program is used and keeps its content', async (t) => {
  const database = newName();
  await client.db(database).collection('orders').insertOne({ total: 7 });
  await client.db(`${database}_log`).collection('log').insertOne({ line: 'their own' });
  const before = await contents(database);
  await (await connectMongo({ url, database })).close();
  t.match(await rowOf(database), { version: NEWEST });
  const after = await contents(database);
  for (const [name, content] of Object.entries(before)) t.strictSame(after[name], content);
});

t.test('An empty database gets the newest version, which stays when the log is lost', async (t) => {
  t.strictSame(
    MIGRATIONS.map(({ version }) => version),
    Array.from({ length: NEWEST }, (_, index) => index + 1),
  );
  const database = await used();
  t.match(await rowOf(database), { version: NEWEST, _meta: { revision: NEWEST } });
  await client.db(`${database}_log`).dropDatabase();
  await (await connectMongo({ url, database })).close();
  t.notOk(await isLogThere(database), 'and opening it again writes nothing');
});

t.test('Opening a database of the newest version costs one read', async (t) => {
  const database = await used();
  const dbs = ['', '_log', '_files'].map((end) => client.db(`${database}${end}`));
  for (const db of dbs) await db.command({ profile: 2 });
  await (await connectMongo({ url, database })).close();
  for (const db of dbs) await db.command({ profile: 0 });
  const profiles = await Promise.all(
    dbs.map((db) => db.collection('system.profile').find({ appName: 'millrace' }).toArray()),
  );
  t.strictSame(
    profiles.flat().map(({ op, ns }) => [op, ns]),
    [['query', `${database}._settings`]],
  );
});
