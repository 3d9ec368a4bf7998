/**
 * Connects to MongoDB: one client, the three databases, and the check that the server supports Millrace. After a change
 * of primary the driver retries single reads and writes once by itself; transactions.ts repeats transactions.
 */
import { type Db, MongoClient, MongoParseError } from 'mongodb';
import './mongodb-driver-patch.ts';
import { mongoErrorCode } from './errors.ts';
import { migrate } from './migrations.ts';
import { MONGO_ERROR_CODES } from './mongo-error-codes.ts';
import { UnusableDatabase } from './startup-error.ts';

export interface Mongo {
  readonly client: MongoClient;
  /** Users' collections and system collections visible to administrators; every change here is an event. */
  readonly data: Db;
  /** Internal data: log, leases, cursors, secrets. Never an event. */
  readonly log: Db;
  /** The GridFS bucket. */
  readonly files: Db;
  /** Server version, such as `6.0.5`. */
  readonly version: string;
  /** Whether we are authenticated as a user; a server without authentication accepts every client. */
  readonly authenticated: boolean;
  close(): Promise<void>;
}

export interface MongoSettings {
  /** Connection string. */
  readonly url: string;
  /** Name of the data database. */
  readonly database: string;
  /** Maximum number of connections; 64 by default. */
  readonly maxPoolSize?: number;
}

/**
 * Connects and checks the server: a replica set or sharded cluster, MongoDB 6.0 or newer, not an imitation of it. Then
 * it migrates the stored data to the schema version of this program.
 * @throws UnusableDatabase with a line that says what to do
 */
export async function connectMongo(settings: MongoSettings): Promise<Mongo> {
  refuseImitations(settings.url);
  const client = makeClient(settings);
  try {
    const { version, authenticated } = await checkServer(client, settings.url);
    const databases = {
      data: client.db(settings.database),
      log: client.db(`${settings.database}_log`),
      files: client.db(`${settings.database}_files`),
    };
    await migrate(databases);
    return { client, ...databases, version, authenticated, close: () => client.close() };
  } catch (error) {
    await client.close();
    throw missingPrivilegesError(error, settings) ?? error;
  }
}

function makeClient({ url, maxPoolSize = 64 }: MongoSettings): MongoClient {
  try {
    return new MongoClient(url, {
      appName: 'millrace',
      maxPoolSize,
      serverSelectionTimeoutMS: 5_000,
      connectTimeoutMS: 5_000,
      waitQueueTimeoutMS: 10_000,
      writeConcern: { w: 'majority' },
      readPreference: 'primary',
      ignoreUndefined: false,
    });
  } catch (cause) {
    // Only texts that cannot contain a part of a password that was parsed as something else.
    const option =
      cause instanceof MongoParseError && /^options? [\w, ]+ (?:is|are) not supported$/.exec(cause.message);
    throw new UnusableDatabase(
      `MONGODB_URL cannot be read as a connection string${option ? `: ${option[0]}` : ''}. It must look like ` +
        'mongodb://user:password@host:27017/?replicaSet=rs0, and in user and password @ is written %40, : is written %3A, ' +
        '%2F for /, %25 for %.',
      { cause },
    );
  }
}

/**
 * A sentence for a database that requires authentication, or denies this user what is needed; null for every other
 * failure. A missing privilege shows only on use: when the database is opened, or in the first steps after.
 */
export function missingPrivilegesError(cause: unknown, { url, database }: MongoSettings): UnusableDatabase | null {
  if (mongoErrorCode(cause) !== MONGO_ERROR_CODES.unauthorized) return null;
  return new UnusableDatabase(
    `The MongoDB at ${withoutPassword(url)} does not allow what Millrace needs. MONGODB_URL must name ` +
      `a user with the roles readWrite and dbAdmin on ${database}, ${database}_log and ${database}_files.`,
    { cause },
  );
}

function refuseImitations(url: string): void {
  const product = /\.docdb(-elastic)?\.amazonaws\.com/i.test(url)
    ? 'Amazon DocumentDB'
    : /\.cosmos\.azure\.com/i.test(url)
      ? 'Azure Cosmos DB'
      : undefined;
  if (product) {
    throw new UnusableDatabase(
      `${product} lacks the change streams and pre-images that Millrace needs. Use MongoDB 6.0 or newer as a replica set.`,
    );
  }
}

async function checkServer(client: MongoClient, url: string): Promise<Pick<Mongo, 'version' | 'authenticated'>> {
  const admin = client.db('admin');
  const hello = await admin.command({ hello: 1 }).catch((cause: unknown) => {
    const where = withoutPassword(url);
    if (mongoErrorCode(cause) === MONGO_ERROR_CODES.authenticationFailed) {
      throw new UnusableDatabase(
        `The MongoDB at ${where} rejects the user or the password in MONGODB_URL. If the user is stored in another ` +
          'database than admin, specify it with ?authSource=…',
        { cause },
      );
    }
    const reason = cause instanceof Error ? ` (${cause.message})` : '';
    throw new UnusableDatabase(`No MongoDB responds at ${where}${reason}. Is it running, and is MONGODB_URL correct?`, {
      cause,
    });
  });
  const [build, { authInfo }] = await Promise.all([
    admin.command({ buildInfo: 1 }),
    admin.command({ connectionStatus: 1 }),
  ]);
  const version = String(build['version']);
  if (build['ferretdb'] !== undefined || hello['internal'] === 'cosmos') {
    throw new UnusableDatabase(
      'This server is not MongoDB, it only imitates it. Use MongoDB 6.0 or newer as a replica set.',
    );
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
  return { version, authenticated: authInfo.authenticatedUsers.length > 0 };
}

/**
 * Only hosts and ports: user and password come before them, and options after them can contain passwords of a proxy.
 */
function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//').replace(/\?.*/, '');
}
