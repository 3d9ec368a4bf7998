/**
 * A real MongoDB for a test file: the shared one of a test runner's group (scripts/run-tests.ts), or one of its own
 * when the file is run alone. Each test gets a database without documents. In a run it may be the database of an
 * earlier test, with the product's tables and indexes still there: creating them takes most of the startup time of an
 * app.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type CollectionInfo, type Db, MongoClient } from 'mongodb';
import type { Test } from 'tap';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import { endWithProcess } from './programs/end-with-process.ts';

export interface TestMongo {
  /** A replica set of one member. */
  readonly url: string;
  /** `<name>`, `<name>_log` and `<name>_files` belong to this test until it ends. */
  readonly database: string;
}

export interface TestMongoOptions {
  /** The test checks a first start: nothing may exist, not even tables. */
  readonly isNew?: boolean;
}

/** Where a run keeps the names of databases that another test may reuse. */
const POOL = { database: 'millrace_test_pool', collection: 'free' } as const;
/** The document of `_settings` with the schema version; an app that starts rejects tables without it. */
const SCHEMA = { collection: '_settings', _id: 'schema' } as const;
/** Options with which tables of the data are created. */
const SEEN_BY_STREAMS = { changeStreamPreAndPostImages: { enabled: true } };
/** Options with which the table of the event log is created. */
const ORDERED_BY_ID = { clusteredIndex: { v: 2, key: { _id: 1 }, name: '_id_', unique: true } };

/** Gives `t` a MongoDB, and a database in it that no other test uses. */
export async function testMongo(t: Test, options: TestMongoOptions = {}): Promise<TestMongo> {
  const ofLane = urlOfLane();
  const url = ofLane ?? (await ownMongo(t));
  const taken = ofLane === undefined || options.isNew ? undefined : await withClient(url, takeUsed);
  const database = taken ?? `test_${randomBytes(6).toString('hex')}`;
  t.teardown(() =>
    withClient(url, async (client) => {
      const isFit = ofLane !== undefined && t.passing() && (await hasProductTables(client, database));
      if (isFit) await free(client).insertOne({ _id: database });
      // In parallel: each drop waits for a moment.
      else await Promise.all(databasesOf(client, database).map((db) => db.dropDatabase()));
    }),
  );
  return { url, database };
}

/** The connection string of the MongoDB that a group of tests shares; undefined when a file is run alone. */
const urlOfLane = () => process.env['MILLRACE_TEST_MONGODB_URL'];

/** The client of this process for that MongoDB: each client makes several connections. */
let clientOfLane: MongoClient | undefined;

async function withClient<T>(url: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const isOfLane = url === urlOfLane();
  if (isOfLane && clientOfLane !== undefined) return await use(clientOfLane);
  const client = new MongoClient(url);
  if (isOfLane && endWithProcess(() => client.close())) {
    clientOfLane = client;
    return await use(client);
  }
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const free = (client: MongoClient) => client.db(POOL.database).collection<{ _id: string }>(POOL.collection);

const databasesOf = (client: MongoClient, database: string) =>
  ['', '_log', '_files'].map((end) => client.db(`${database}${end}`)) as [Db, Db, Db];

/** Whether an app has run on it, and no test has created views or changed the options of the app's tables. */
async function hasProductTables(client: MongoClient, database: string): Promise<boolean> {
  const [data, log] = databasesOf(client, database);
  const all = (db: Db): Promise<CollectionInfo[]> => db.listCollections<CollectionInfo>().toArray();
  const schema = data.collection<{ _id: string }>(SCHEMA.collection).findOne({ _id: SCHEMA._id });
  const [tables, logTables, version] = await Promise.all([all(data), all(log), schema]);
  const areCreated = (of: readonly CollectionInfo[], how: readonly object[]) =>
    of.every(({ options }) => how.some((one) => isDeepStrictEqual(options, one)));
  return (
    version !== null &&
    !tables.some(({ name }) => name.startsWith('system.')) &&
    areCreated(tables.filter(isProductTable), [SEEN_BY_STREAMS]) &&
    areCreated(logTables, [{}, ORDERED_BY_ID])
  );
}

const isProductTable = ({ name }: { readonly name: string }) => name.startsWith('_');

/** Takes a database that an earlier test has left, and removes everything in it except the product's own tables. */
async function takeUsed(client: MongoClient): Promise<string | undefined> {
  const found = await free(client).findOneAndDelete({});
  // Tests check for open cursors: they must not find one of an earlier test.
  if (found === null || (await hasCursors(client, found._id))) return undefined;
  const [data, log, files] = databasesOf(client, found._id);
  const names = (db: Db) => db.listCollections({}, { nameOnly: true }).toArray();
  const [tables, logTables] = await Promise.all([names(data), names(log), files.dropDatabase()]);
  const { own = [], other = [] } = Object.groupBy(tables, (table) => (isProductTable(table) ? 'own' : 'other'));
  await Promise.all([...other.map(({ name }) => data.dropCollection(name)), empty(data, own), empty(log, logTables)]);
  return found._id;
}

async function hasCursors(client: MongoClient, database: string): Promise<boolean> {
  const idle = { type: 'idleCursor', ns: { $regex: `^${database}\\.` } };
  const open = client.db('admin').aggregate([{ $currentOp: { idleCursors: true } }, { $match: idle }, { $limit: 1 }]);
  return await open.hasNext();
}

/**
 * Removes the documents of tables except the schema version. Most tables are empty: one query finds those that are not.
 */
async function empty(db: Db, tables: readonly { readonly name: string }[]): Promise<void> {
  const removed = { _id: { $ne: SCHEMA._id } };
  const one = ({ name }: { name: string }) => [
    { $match: removed },
    { $limit: 1 },
    { $project: { _id: 0, name: { $literal: name } } },
  ];
  const [first, ...rest] = tables;
  if (first === undefined) return;
  const others = rest.map((table) => ({ $unionWith: { coll: table.name, pipeline: one(table) } }));
  const full = db.collection(first.name).aggregate<{ name: string }>([...one(first), ...others]);
  await Promise.all((await full.toArray()).map(({ name }) => db.collection<{ _id: string }>(name).deleteMany(removed)));
}

async function ownMongo(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  const embedded = await startEmbeddedDatabase({ folder, binary: process.env['MONGOD_BINARY'] });
  t.teardown(async () => {
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return embedded.url;
}
