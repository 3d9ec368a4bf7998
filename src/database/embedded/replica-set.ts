/**
 * Makes a running mongod a replica set of one member, which change streams and transactions need, and waits until it
 * is primary. Not here: starting the server (mongod.ts); the program's own connection (database/mongo.ts).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Db, type Document, MongoClient, MongoServerError } from 'mongodb';
import { MillraceError } from '../../kernel/errors.ts';

const POLL_MS = 10;

/** What the server said about itself. */
export interface Member {
  readonly version: string;
}

/**
 * Brings the member up on its port. A folder that ran before holds the address of its last start; a forced
 * reconfiguration writes the new one, which is sound in a set whose only member is this one.
 * @param mongodPid the process that must be the one that answers.
 * @param limit ends the wait; its reason is thrown.
 */
export async function formReplicaSet(
  name: string,
  port: number,
  mongodPid: number,
  limit: AbortSignal,
): Promise<Member> {
  const host = `127.0.0.1:${port}`;
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, {
    appName: 'millrace-start',
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
      if (hello['isWritablePrimary'] === true && hello['me'] === host) return { version: String(status['version']) };
      await configure(client, name, host).catch(passWhenBusy);
      await delay(POLL_MS);
    }
  } finally {
    await client.close();
  }
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
