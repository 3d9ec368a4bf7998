/**
 * Turns a running mongod into a replica set of one member, which change streams and transactions need, and waits until
 * it is primary; then creates the program's database user.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Db, type Document, MongoClient, MongoNetworkError, MongoServerError } from 'mongodb';
import { MillraceError } from '../../lib/errors.ts';
import '../mongodb-driver-patch.ts';
import { DATABASE_USER, type EmbeddedCredentials } from './credentials.ts';

const POLL_MS = 10;

/** The reply of the server's `hello`. */
export interface ReplicaMember {
  readonly version: string;
}

export interface ReplicaMemberSettings {
  /** Name of the replica set. */
  readonly name: string;
  /** Loopback port on which the member listens. */
  readonly port: number;
  /** The pid of the process that must respond on the port. */
  readonly mongodPid: number;
  readonly credentials: EmbeddedCredentials;
}

/** All privileges in MongoDB. `root` does not include reading `local`, which contains the oplog. */
const ROLES = ['root', { role: 'read', db: 'local' }];
const USER_NOT_FOUND = 11;

/**
 * Makes the member primary on its port. A used folder contains the host and port of its last start. A forced
 * reconfiguration writes the new ones, which is safe in a set of one member. It signs in by the key as the server
 * itself (`__system`), so there is never a moment without authentication. Each step can be repeated after any crash.
 * @param limit ends the wait; its reason is thrown
 */
export async function formReplicaSet(settings: ReplicaMemberSettings, limit: AbortSignal): Promise<ReplicaMember> {
  const { port, credentials } = settings;
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    appName: 'millrace-start',
    auth: { username: '__system', password: credentials.key },
    authSource: 'local',
    authMechanism: 'SCRAM-SHA-256',
    serverSelectionTimeoutMS: 30_000,
    monitorCommands: false,
  });
  try {
    for (;;) {
      limit.throwIfAborted();
      try {
        return await form(client, settings, limit);
      } catch (error) {
        // A member closes its connections when the stored configuration has another host or port.
        if (!(error instanceof MongoNetworkError)) throw error;
      }
      await delay(POLL_MS);
    }
  } finally {
    await client.close();
  }
}

async function form(client: MongoClient, settings: ReplicaMemberSettings, limit: AbortSignal): Promise<ReplicaMember> {
  const { name, port, mongodPid, credentials } = settings;
  const host = `127.0.0.1:${port}`;
  const admin = client.db('admin');
  const status = await admin.command({ serverStatus: 1, metrics: 0, wiredTiger: 0, tcmalloc: 0 });
  if (Number(status['pid']) !== mongodPid) {
    throw new MillraceError('database-unavailable', `Another server responds on ${host}.`);
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
}

/**
 * Sets the password and roles of the program's user at each start. That also creates the user in a new folder or in a
 * folder of an older version without authentication, and replaces a lost password.
 */
async function admitUser(admin: Db, pwd: string): Promise<void> {
  const words = { pwd, roles: ROLES, mechanisms: ['SCRAM-SHA-256'] };
  await admin.command({ updateUser: DATABASE_USER, ...words }).catch(async (error: unknown) => {
    if (!(error instanceof MongoServerError) || error.code !== USER_NOT_FOUND) throw error;
    await admin.command({ createUser: DATABASE_USER, ...words });
  });
}

/** Writes the set's configuration if there is none, or if it has another host or port. */
async function configure(client: MongoClient, name: string, host: string): Promise<void> {
  const admin = client.db('admin');
  const config = await storedConfig(client.db('local'));
  const members = [{ _id: 0, host }];
  if (config === null) await admin.command({ replSetInitiate: { _id: name, members } });
  else if (config['members'][0].host !== host || config['members'].length !== 1) {
    await admin.command({ replSetReconfig: { ...config, members }, force: true });
  }
}

/**
 * Read from its collection: the commands that return the configuration fail while the member is not part of its own
 * set.
 */
async function storedConfig(local: Db): Promise<Document | null> {
  return local.collection('system.replset').findOne({}, { readPreference: 'secondaryPreferred' });
}

/** A server rejects these commands while it still reads its configuration; the loop retries. */
function passWhenBusy(error: unknown): void {
  if (!(error instanceof MongoServerError)) throw error;
}
