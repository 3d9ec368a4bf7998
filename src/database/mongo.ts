/**
 * The door to MongoDB: one client, the three databases, and the checks that a deployment can carry Millrace at all.
 * Not here: starting a server (embedded/), what is stored (the stores), errors (errors.ts).
 */
import { type Db, MongoClient } from 'mongodb';
import { UnusableDatabase } from './unusable.ts';

/** Version of the stored shapes; a database written by a newer Millrace is refused. */
const FORMAT = 1;

export interface Mongo {
  readonly client: MongoClient;
  /** Users' collections and what an owner may see; every change here is an event. */
  readonly data: Db;
  /** Machinery: log, leases, cursors, secrets. Never an event. */
  readonly log: Db;
  /** The GridFS bucket. */
  readonly files: Db;
  /** Server version, such as `6.0.5`. */
  readonly version: string;
  close(): Promise<void>;
}

export interface MongoSettings {
  /** Connection string. */
  readonly url: string;
  /** Name of the data database. */
  readonly database: string;
  /** Connections at most; 64 by default. */
  readonly maxPoolSize?: number;
}

/**
 * Connects and checks the server: a replica set or sharded cluster, MongoDB 6.0 or newer, not an imitation of it.
 * @throws UnusableDatabase with a line that says what to do
 */
export async function openMongo(settings: MongoSettings): Promise<Mongo> {
  refuseImitations(settings.url);
  const client = new MongoClient(settings.url, {
    appName: 'millrace',
    maxPoolSize: settings.maxPoolSize ?? 64,
    serverSelectionTimeoutMS: 5_000,
    connectTimeoutMS: 5_000,
    waitQueueTimeoutMS: 10_000,
    writeConcern: { w: 'majority' },
    readPreference: 'primary',
    ignoreUndefined: false,
  });
  try {
    const version = await checkServer(client, settings.url);
    const log = client.db(`${settings.database}_log`);
    await checkFormat(log);
    return {
      client,
      data: client.db(settings.database),
      log,
      files: client.db(`${settings.database}_files`),
      version,
      close: () => client.close(),
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}

function refuseImitations(url: string): void {
  const product = /\.docdb(-elastic)?\.amazonaws\.com/i.test(url)
    ? 'Amazon DocumentDB'
    : /\.cosmos\.azure\.com/i.test(url)
      ? 'Azure Cosmos DB'
      : undefined;
  if (product) {
    throw new UnusableDatabase(
      `${product} lacks the change streams and pre-images that Millrace lives on. Use MongoDB 6.0 or newer as a replica set.`,
    );
  }
}

async function checkServer(client: MongoClient, url: string): Promise<string> {
  const admin = client.db('admin');
  const hello = await admin.command({ hello: 1 }).catch((error: unknown) => {
    throw new UnusableDatabase(
      `No MongoDB answers at ${withoutPassword(url)}. Is it running, and is MONGODB_URL right?`,
      {
        cause: error,
      },
    );
  });
  const build = await admin.command({ buildInfo: 1 });
  const version = String(build['version']);
  if (build['ferretdb'] !== undefined || hello['internal'] === 'cosmos') {
    throw new UnusableDatabase('This server only speaks like MongoDB. Use MongoDB 6.0 or newer as a replica set.');
  }
  if (Number(version.split('.')[0]) < 6) {
    throw new UnusableDatabase(`MongoDB ${version} is too old. Millrace needs MongoDB 6.0 or newer.`);
  }
  if (hello['setName'] === undefined && hello['msg'] !== 'isdbgrid') {
    throw new UnusableDatabase(
      `The MongoDB at ${withoutPassword(url)} is a standalone server without change streams. Start it with --replSet rs0 ` +
        'and run rs.initiate() once, or leave MONGODB_URL unset to let Millrace run its own.',
    );
  }
  return version;
}

async function checkFormat(log: Db): Promise<void> {
  const formats = log.collection<{ _id: string; version: number }>('format');
  const stored = await formats.findOneAndUpdate(
    { _id: 'format' },
    { $setOnInsert: { version: FORMAT } },
    { upsert: true, returnDocument: 'after' },
  );
  if (stored && stored.version > FORMAT) {
    throw new UnusableDatabase(
      `The data was written by a newer Millrace (format ${stored.version}; this one knows ${FORMAT}). Update Millrace.`,
    );
  }
}

function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//');
}
