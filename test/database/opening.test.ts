/** Unusable databases: the program prints a sentence with the reason, and never a password. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Document, MongoClient } from 'mongodb';
import t from 'tap';
import { findFreePort } from '../../src/database/embedded/port.ts';
import { connectMongo } from '../../src/database/mongo.ts';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { withoutSettings } from '../helpers/programs/millrace.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** What the program prints about a connection string. */
async function refusalOf(url: string): Promise<string> {
  const mongo = await connectMongo({ url, database: 'millrace' }).catch((error: unknown) => error);
  if (!(mongo instanceof Error)) throw new Error('It was opened');
  return `${mongo.name}: ${mongo.message}`;
}

async function command(url: string, words: Document): Promise<void> {
  const client = new MongoClient(`${url}/?directConnection=true`);
  await client.db('admin').command(words);
  await client.close();
}

function run(
  words: readonly string[],
  settings: Record<string, string>,
): Promise<{ status: number | null; stderr: string }> {
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: { ...withoutSettings(process.env), ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 20_000,
  });
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString();
  });
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, stderr })));
}

t.test('an invalid connection string is reported', async (t) => {
  for (const url of [
    'mongodb://ann:sec@ret@127.0.0.1/',
    'mongodb://ann:sec/ret@127.0.0.1/',
    'mongodb://ann:sec?ret@127.0.0.1/',
    'mongodb://ann:sec%ret@127.0.0.1/',
    'mongodb://127.0.0.1:99999/',
    'mongodb://127.0.0.1/?nothing=1',
  ]) {
    const said = await refusalOf(url);
    t.match(said, /^UnusableDatabase: MONGODB_URL cannot be read.*%40/, url);
    t.notMatch(said, /sec|ret@/, 'without the password');
  }
});

t.test('an unreachable database is reported', async (t) => {
  const said = await refusalOf(`mongodb://ann:secret@127.0.0.1:${await findFreePort()}/`);
  t.match(said, /^UnusableDatabase: No MongoDB responds at mongodb:\/\/127.*ECONNREFUSED/);
  t.notMatch(said, /secret/);
  const options =
    'tls=true&tlsCertificateKeyFilePassword=secret&proxyHost=127.0.0.1&proxyUsername=ann&proxyPassword=secret';
  const reported = await refusalOf(`mongodb://127.0.0.1:${await findFreePort()}/?${options}`);
  t.match(reported, /No MongoDB responds at mongodb:\/\/127/);
  t.notMatch(reported, /secret/, 'options can be passwords, too');
});

t.test('a MongoDB that denies access is reported', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-key-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const keyFile = join(folder, 'key');
  await writeFile(keyFile, randomBytes(90).toString('base64'), { mode: 0o600 });
  const { url, members } = await testReplicaSet(t, { args: ['--keyFile', keyFile] });
  const as = (who: string) => url.replace('mongodb://', `mongodb://${who}@`);
  const port = members[0]?.port;
  // As long as no user exists the server lets this machine create one.
  await command(`mongodb://127.0.0.1:${port}`, { createUser: 'root', pwd: 'secret', roles: ['root'] });
  const roles = [{ role: 'read', db: 'millrace' }];
  await command(`mongodb://root:secret@127.0.0.1:${port}`, { createUser: 'reader', pwd: 'secret', roles });

  t.match(await refusalOf(as('reader:wrong')), /^UnusableDatabase: The MongoDB at mongodb:\/\/127.*rejects the user/);
  for (const address of [url, as('reader:secret')]) {
    const said = await refusalOf(address);
    t.match(
      said,
      /^UnusableDatabase: The MongoDB at mongodb:\/\/127.*does not allow.*readWrite and dbAdmin on millrace, /,
    );
    t.notMatch(said, /secret/);
  }

  // Allowed until the first collection of the data is created.
  const some = [{ role: 'readWrite', db: 'millrace_log' }];
  await command(`mongodb://root:secret@127.0.0.1:${port}`, { createUser: 'logger', pwd: 'secret', roles: some });
  const settings = { MONGODB_URL: as('logger:secret'), PORT: '0' };
  for (const words of [[], ['signing-keys', 'rotate']]) {
    const { status, stderr } = await run(words, settings);
    t.equal(status, 1);
    t.match(
      stderr,
      /^\s*The MongoDB at mongodb:\/\/127.*does not allow.*readWrite and dbAdmin on millrace, [^\n]*\n$/,
      'no stack',
    );
  }
});
