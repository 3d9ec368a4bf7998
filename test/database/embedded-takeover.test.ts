/**
 * The embedded MongoDB in unusual folders: from versions without authentication, and of starts that were killed (-9)
 * between two steps. The next start repairs all of it and keeps the data.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Document, MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { loadEmbeddedCredentials } from '../../src/database/embedded/credentials.ts';
import { findDataFolderHolder } from '../../src/database/embedded/data-dir-lock.ts';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import { findMongod } from '../../src/database/embedded/find-mongod.ts';
import { spawnMongod } from '../../src/database/embedded/mongod.ts';
import { findFreePort } from '../../src/database/embedded/port.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';
import { isLong, onlyLong } from '../helpers/long-profile.ts';
import { gone } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';

const PROGRAM = fileURLToPath(new URL('../helpers/database/embedded-program.ts', import.meta.url));

/** A folder as versions without authentication left it, with one document. */
async function oldFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-old-'));
  const [data, log] = [join(folder, 'data'), join(folder, 'mongod.log')];
  await mkdir(data, { mode: 0o700 });
  const port = await findFreePort();
  const words = ['--replSet', 'millrace', '--bind_ip', '127.0.0.1', '--port', String(port), '--dbpath', data];
  const mongod = await spawnMongod(await findMongod(), [...words, '--logpath', log, '--nounixsocket'], log);
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`);
  const admin = client.db('admin');
  await admin.command({ replSetInitiate: { _id: 'millrace', members: [{ _id: 0, host: `127.0.0.1:${port}` }] } });
  await until(async () => (await admin.command({ hello: 1 }))['isWritablePrimary'] === true, 'it is primary');
  await client.db('kept').collection<Document>('things').insertOne({ n: 1 });
  await client.close();
  await mongod.stop();
  return folder;
}

/** Whether the document is there, for a client with the connection string only. */
async function judge(t: Pick<Test, 'equal'>, url: string, things: number): Promise<void> {
  const count = async (address: string) => {
    const client = new MongoClient(address, { directConnection: true });
    return client
      .db('kept')
      .collection('things')
      .countDocuments()
      .catch((error: { code?: number }) => error.code)
      .finally(() => client.close());
  };
  t.equal(await count(url), things, 'the data is there');
  t.equal(await count(`mongodb://127.0.0.1:${new URL(url).port}/`), 13, 'for no other client');
}

/** Queries the server of a folder as itself; null while it does not respond. */
async function asServer(folder: string, database: string, command: Document): Promise<Document | null> {
  const port = /--port[\0 ](\d+)/.exec((await findDataFolderHolder(join(folder, 'data')))?.mongod.command ?? '')?.[1];
  if (port === undefined) return null;
  const { key } = await loadEmbeddedCredentials(folder);
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true&serverSelectionTimeoutMS=500`, {
    auth: { username: '__system', password: key },
    authSource: 'local',
    readPreference: 'secondaryPreferred',
  });
  return client
    .db(database)
    .command(command)
    .catch(() => null)
    .finally(() => client.close());
}

const exists = (folder: string, name: string) =>
  stat(join(folder, name)).then(
    () => true,
    () => false,
  );
const firstOf = (reply: Document | null) => reply?.['cursor']['firstBatch'][0];

/** Each step of a start, and how to detect that it is done. */
const STEPS: Readonly<Record<string, (folder: string) => Promise<boolean>>> = {
  'the key is being written': async (folder) => (await readdir(folder)).some((name) => name.startsWith('mongod.key')),
  'the key is there': (folder) => exists(folder, 'mongod.key'),
  'the password is there': (folder) => exists(folder, 'mongod.password'),
  'MongoDB opens its files': (folder) => exists(folder, 'data/mongod.lock'),
  'MongoDB answers': async (folder) => (await asServer(folder, 'admin', { ping: 1 })) !== null,
  'the replica set is there': async (folder) =>
    firstOf(await asServer(folder, 'local', { find: 'system.replset' })) !== undefined,
  'the user is there': async (folder) =>
    firstOf(await asServer(folder, 'admin', { find: 'system.users' })) !== undefined,
};

// A start mostly waits for the disk.
t.jobs = 3;
const old = await oldFolder();
t.teardown(() => rm(old, { recursive: true, force: true }));

t.test('a folder from before authentication is upgraded with its data', async (t) => {
  const folder = await dataFolder(t);
  await cp(old, folder, { recursive: true });
  for (let start = 1; start <= 2; start++) {
    const { url, stop } = await startEmbeddedDatabase({ folder });
    await judge(t, url, 1);
    await stop();
  }
});

/**
 * Each kill leaves its folder to the next start, which is killed one step further. The long profile repairs each kill
 * by itself, and kills take-overs, too.
 */
const KILLS = isLong ? Object.entries(STEPS).map((step) => [step]) : [Object.entries(STEPS)];

for (const steps of KILLS) {
  for (const [title, before] of [
    ['first start', null],
    ['take-over', old],
  ] as const) {
    const options = before === null ? {} : onlyLong;
    const when = steps.map(([step]) => step).join(', then when ');
    t.test(`the next start repairs a ${title} that is killed when ${when}`, options, async (t) => {
      const folder = await dataFolder(t);
      if (before !== null) await cp(before, folder, { recursive: true, filter: (name) => !name.endsWith('.lock') });
      for (const [step, isDone] of steps) {
        const child = spawn(process.execPath, [PROGRAM, folder], { stdio: 'ignore' });
        const ended = once(child, 'exit');
        t.teardown(() => child.kill('SIGKILL'));
        await until(() => isDone(folder), step);
        const holder = await findDataFolderHolder(join(folder, 'data'));
        child.kill('SIGKILL');
        if (holder !== null) process.kill(holder.mongod.pid, 'SIGKILL');
        await ended;
        await gone(holder?.mongod ?? null);
      }
      const { url, stop } = await startEmbeddedDatabase({ folder });
      t.teardown(stop);
      await judge(t, url, before === null ? 0 : 1);
    });
  }
}
