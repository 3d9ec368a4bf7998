/**
 * The embedded MongoDB and other users of the machine: without the secrets in its folder, they can neither read nor
 * change anything.
 */
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';
import { type Document, MongoClient } from 'mongodb';
import t from 'tap';
import { findDataFolderHolder } from '../../src/database/embedded/data-dir-lock.ts';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import { findProcess } from '../../src/database/embedded/process-info.ts';
import { buildTestApp } from '../helpers/app.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';
import { onlyLong } from '../helpers/long-profile.ts';
import { ask } from '../helpers/users.ts';

const UNAUTHORIZED = 13;
const AUTHENTICATION_FAILED = 18;
/** What an attacker would try first. */
const ATTACKS: readonly Document[] = [
  { find: 'signing_keys', $db: 'millrace_log' },
  { insert: 'things', documents: [{}], $db: 'millrace' },
  { listDatabases: 1 },
  { createUser: 'evil', pwd: 'evil', roles: ['root'] },
  { createRole: 'evil', privileges: [], roles: ['root'] },
  { serverStatus: 1 },
  { getLog: 'global' },
  { getParameter: '*' },
  { setParameter: 1, logLevel: 5 },
  { currentOp: 1 },
  { usersInfo: 1 },
  { replSetGetConfig: 1 },
  { replSetInitiate: {} },
  { shutdown: 1 },
];

async function portOf(folder: string): Promise<string | undefined> {
  return /--port[\0 ](\d+)/.exec((await findDataFolderHolder(join(folder, 'data')))?.mongod.command ?? '')?.[1];
}

/** A client that does not know the secrets of the folder. */
function anonymous(port: string | undefined, options: object = {}): MongoClient {
  const limits = { serverSelectionTimeoutMS: 2_000, directConnection: true };
  return new MongoClient(`mongodb://127.0.0.1:${port}/`, { ...limits, ...options });
}

async function codeOf(client: MongoClient, { $db = 'admin', ...command }: Document): Promise<unknown> {
  return client
    .db($db)
    .command(command)
    .then(
      () => 'done',
      (error: { code?: unknown }) => error.code,
    );
}

/** For the tests that change nothing of it. */
const shared = await dataFolder(t);
const { url, stop } = await startEmbeddedDatabase({ folder: shared });
t.teardown(stop);

t.test('a client without credentials can do and read nothing', async (t) => {
  const client = anonymous(await portOf(shared));
  t.teardown(() => client.close());
  for (const attack of ATTACKS) t.equal(await codeOf(client, attack), UNAUTHORIZED, JSON.stringify(attack));
});

t.test('a wrong password or key is rejected', async (t) => {
  const port = await portOf(shared);
  for (const [username, authSource] of [
    ['millrace', 'admin'],
    ['__system', 'local'],
    ['root', 'admin'],
  ] as const) {
    const client = anonymous(port, { auth: { username, password: 'a'.repeat(64) }, authSource });
    t.equal(await codeOf(client, { listDatabases: 1 }), AUTHENTICATION_FAILED, username);
    await client.close();
  }
});

t.test('an unauthenticated client gets no access during the first start', async (t) => {
  const folder = await dataFolder(t);
  let up = false;
  const starting = startEmbeddedDatabase({ folder }).finally(() => {
    up = true;
  });
  t.teardown(async () => (await starting).stop());
  const codes = new Set<unknown>();
  let client: MongoClient | undefined;
  for (let port: string | undefined; !up; ) {
    if (client === undefined) {
      port = await portOf(folder);
      if (port !== undefined) client = anonymous(port);
      continue;
    }
    codes.add(await codeOf(client, { createUser: 'evil', pwd: 'evil', roles: ['root'] }));
  }
  await client?.close();
  await starting;
  // Without a code: nothing listens yet. An admitted client would usually learn that there is no primary yet.
  codes.delete(undefined);
  t.strictSame([...codes], [UNAUTHORIZED], 'only the correct options are requested');
});

t.test('its folder is readable for its user alone', { skip: platform() === 'win32' }, async (t) => {
  const modeOf = async (name: string) => ((await stat(join(shared, name))).mode & 0o777).toString(8);
  t.equal(await modeOf('data'), '700');
  for (const name of ['mongod.key', 'mongod.password', 'mongod.log', 'data/WiredTiger.wt']) {
    t.equal(await modeOf(name), '600', name);
  }
  const { mongod } = (await findDataFolderHolder(join(shared, 'data'))) ?? {};
  const watchdog = await findProcess(mongod?.parent ?? 0);
  for (const name of ['mongod.key', 'mongod.password']) {
    const secret = (await readFile(join(shared, name), 'utf8')).trim();
    for (const program of [mongod, watchdog]) {
      t.match(program?.command, 'mongod');
      t.notMatch(program?.command, secret, `and no command line shows ${name}`);
    }
  }
});

/** What can happen to a secret between two starts. */
const HARMS: Readonly<Record<string, (file: string) => Promise<void>>> = {
  'was cut off': (file) => writeFile(file, 'ab'),
  'is empty': (file) => writeFile(file, ''),
  ...(platform() === 'win32' ? {} : { 'could be read by others': (file: string) => chmod(file, 0o644) }),
};
t.test('damaged secrets are created again', async (t) => {
  const folder = await dataFolder(t);
  const files = ['mongod.key', 'mongod.password'].map((name) => join(folder, name));
  let last = await startEmbeddedDatabase({ folder });
  t.teardown(() => last.stop());
  for (const [harm, harmIt] of Object.entries(HARMS)) {
    const options = harm === 'is empty' ? onlyLong : {};
    await t.test(`a secret that ${harm} is replaced`, options, async (t) => {
      await last.stop();
      const before = await Promise.all(files.map((file) => readFile(file, 'utf8')));
      for (const file of files) await harmIt(file);
      last = await startEmbeddedDatabase({ folder });
      for (const [index, file] of files.entries()) t.not(await readFile(file, 'utf8'), before[index]);
      const client = new MongoClient(last.url);
      t.teardown(() => client.close());
      t.equal(await codeOf(client, { listDatabases: 1 }), 'done');
      const old = anonymous(await portOf(folder), { auth: { username: 'millrace', password: before[1]?.trim() } });
      t.teardown(() => old.close());
      t.equal(await codeOf(old, { listDatabases: 1 }), AUTHENTICATION_FAILED, 'and the old password opens nothing');
    });
  }
});

t.test('it uses no compression', async (t) => {
  const client = anonymous(await portOf(shared));
  t.teardown(() => client.close());
  const hello = await client.db('admin').command({ hello: 1, compression: ['snappy', 'zlib', 'zstd'] });
  t.equal(hello['compression'], undefined);
});

t.test('its log contains no stored data, even if commands are slow', async (t) => {
  const { app } = await buildTestApp(t, {}, { url, database: 'millrace' });
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  // From now on every command counts as slow.
  await client.db('admin').command({ profile: 0, slowms: -1 });
  const user = { username: 'ada', email: 'ada@example.org', password: 'a long planted password' };
  t.equal((await ask(app, 'POST /auth/register', user)).statusCode, 201);
  const { username, password } = user;
  t.equal((await ask(app, 'POST /auth/login', { username, password })).statusCode, 200);
  t.equal((await ask(app, 'POST /api/secrets', { text: 'planted in a document' })).statusCode, 201);
  await client
    .db('millrace')
    .collection('secrets')
    .findOne({ $where: 'sleep(200) || true', text: { $ne: 'planted in a question' } });
  const log = await readFile(join(shared, 'mongod.log'), 'utf8');
  t.match(log, /"msg":/, 'it is written');
  t.notMatch(log, /planted|argon2|ada@example|Slow query/);
});
