/**
 * Makes a running mongod a replica set of one member, which change streams and transactions need, and waits until it
 * is primary; then makes the user that the program signs in as. Not here: starting the server (mongod.ts); where its
 * secrets come from (credentials.ts); the program's own connection (database/mongo.ts).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Db, type Document, MongoClient, MongoServerError } from 'mongodb';
import { MillraceError } from '../../kernel/errors.ts';
import { type Credentials, DATABASE_USER } from './credentials.ts';

const POLL_MS = 10;

/** What the server said about itself. */
export interface ReplicaMember {
  readonly version: string;
}

export interface MemberSettings {
  /** Name of the replica set. */
  readonly name: string;
  /** Loopback port on which the member listens. */
  readonly port: number;
  /** The process that must be the one that answers. */
  readonly mongodPid: number;
  readonly credentials: Credentials;
}

/** All of MongoDB, as an owner needs it; `root` leaves out the reading of `local`, where the oplog is. */
const ROLES = ['root', { role: 'read', db: 'local' }];
const USER_NOT_FOUND = 11;

/**
 * Brings the member up on its port. A folder that ran before holds the address of its last start; a forced
 * reconfiguration writes the new one, which is sound in a set whose only member is this one. It signs in by the key as the
 * server itself (`__system`), so that there is never a moment without authentication, and each step can be done again
 * after any crash.
 * @param limit ends the wait; its reason is thrown.
 */
export async function formReplicaSet(settings: MemberSettings, limit: AbortSignal): Promise<ReplicaMember> {
  const { name, port, mongodPid, credentials } = settings;
  const host = `127.0.0.1:${port}`;
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, {
    appName: 'millrace-start',
    auth: { username: '__system', password: credentials.key },
    authSource: 'local',
    authMechanism: 'SCRAM-SHA-256',
    serverSelectionTimeoutMS: 30_000,
    monitorCommands: false,
  });
  try {
    const admin = client.db('admin');
    const status = await admin.command({ serverStatus: 1, metrics: 0, wiredTiger: 0, tcmalloc: 0 });
    if (Number(status['pid']) !== mongodPid) {
      throw new MillraceError('database-unavailable', `Another server answers on ${host}.`);
    }
    for (;;) {
      limit.throwIfAborted();
      const hello = await admin.command({ hello: 1 });
      if (hello['isWritablePrimary'] === true && hello['me'] === host) break;
      await configure(client, name, host).catch(passWhenBusy);
      await delay(POLL_MS);
    }
    await admitUser(admin, credentials.password);
    return { version: String(status['version']) };
  } finally {
    await client.close();
  }
}

/**
 * Gives the program's user its password and rights at each start, and so makes it in a new folder, in one from before there
 * was authentication, and in one whose password was lost.
 */
async function admitUser(admin: Db, pwd: string): Promise<void> {
  const words = { pwd, roles: ROLES, mechanisms: ['SCRAM-SHA-256'] };
  await admin.command({ updateUser: DATABASE_USER, ...words }).catch(async (error: unknown) => {
    if (!(error instanceof MongoServerError) || error.code !== USER_NOT_FOUND) throw error;
    await admin.command({ createUser: DATABASE_USER, ...words });
  });
}

/** Writes the set's configuration when there is none, or when it names another address. */
async function configure(client: MongoClient, name: string, host: string): Promise<void> {
  const admin = client.db('admin');
  const config = await storedConfig(client.db('local'));
  const members = [{ _id: 0, host }];
  if (config === null) await admin.command({ replSetInitiate: { _id: name, members } });
  else if (config['members'][0].host !== host || config['members'].length !== 1) {
    await admin.command({ replSetReconfig: { ...config, members }, force: true });
  }
}

/** Read from where it is kept: the commands that show it do not answer while a member is not part of its own set. */
async function storedConfig(local: Db): Promise<Document | null> {
  return local.collection('system.replset').findOne({}, { readPreference: 'secondaryPreferred' });
}

/** While a server still reads its configuration it refuses these commands; the loop asks again. */
function passWhenBusy(error: unknown): void {
  if (!(error instanceof MongoServerError)) throw error;
}
