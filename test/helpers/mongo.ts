/**
 * A real MongoDB for a test file: the one that the tests of a lane share (scripts/run-tests.ts), or one of its own when the file is
 * run alone. Each test gets a database that holds no document. In a run it may be the database of an earlier test, with the tables
 * and indexes of the product still there: making them takes most of the time in which an app starts.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type CollectionInfo, type Db, MongoClient } from 'mongodb';
import type { Test } from 'tap';
import { startEmbedded } from '../../src/database/embedded/embedded.ts';
import { endWithProcess } from './programs/end-with-process.ts';

export interface TestMongo {
  /** A replica set of one member. */
  readonly url: string;
  /** `<name>`, `<name>_log` and `<name>_files` belong to this test until it ends. */
  readonly database: string;
}

export interface TestMongoOptions {
  /** The test looks at a first start: nothing may be there, not even tables. */
  readonly isNew?: boolean;
}

/** Where a run keeps the names of databases that another test may take. */
const POOL = { database: 'millrace_test_pool', collection: 'free' } as const;
/** The document of `_settings` with the schema version; an app that starts refuses tables without it. */
const SCHEMA = { collection: '_settings', _id: 'schema' } as const;
/** How tables of the data are made. */
const SEEN_BY_STREAMS = { changeStreamPreAndPostImages: { enabled: true } };
/** How the table of the event log is made. */
const ORDERED_BY_ID = { clusteredIndex: { v: 2, key: { _id: 1 }, name: '_id_', unique: true } };

/** Gives `t` a MongoDB, and a database in it that nobody else uses. */
export async function testMongo(t: Test, options: TestMongoOptions = {}): Promise<TestMongo> {
  const ofLane = urlOfLane();
  const url = ofLane ?? (await ownMongo(t));
  const taken = ofLane === undefined || options.isNew ? undefined : await withClient(url, takeUsed);
  const database = taken ?? `test_${randomBytes(6).toString('hex')}`;
  t.teardown(() =>
    withClient(url, async (client) => {
      const isFit = ofLane !== undefined && t.passing() && (await hasProductTables(client, database));
      if (isFit) await free(client).insertOne({ _id: database });
      // Beside each other: each drop waits for a moment.
      else await Promise.all(databasesOf(client, database).map((db) => db.dropDatabase()));
    }),
  );
  return { url, database };
}

/** The connection string of the MongoDB that the tests of a lane share; undefined when a file is run alone. */
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

/** Whether an app has run on it, and no test has made views or changed how the app's tables are made. */
async function hasProductTables(client: MongoClient, database: string): Promise<boolean> {
  const [data, log] = databasesOf(client, database);
  const all = (db: Db): Promise<CollectionInfo[]> => db.listCollections<CollectionInfo>().toArray();
  const schema = data.collection<{ _id: string }>(SCHEMA.collection).findOne({ _id: SCHEMA._id });
  const [tables, logTables, version] = await Promise.all([all(data), all(log), schema]);
  const areMade = (of: readonly CollectionInfo[], how: readonly object[]) =>
    of.every(({ options }) => how.some((one) => isDeepStrictEqual(options, one)));
  return (
    version !== null &&
    !tables.some(({ name }) => name.startsWith('system.')) &&
    areMade(tables.filter(isProductTable), [SEEN_BY_STREAMS]) &&
    areMade(logTables, [{}, ORDERED_BY_ID])
  );
}

const isProductTable = ({ name }: { readonly name: string }) => name.startsWith('_');

/** Takes a database that an earlier test has left, and removes all that it holds but the product's own tables. */
async function takeUsed(client: MongoClient): Promise<string | undefined> {
  const found = await free(client).findOneAndDelete({});
  // Tests look for cursors that are open: they must not find one of an earlier test.
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

/** Removes the documents of tables but the schema version. Most tables have none: one query says which have. */
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
  const embedded = await startEmbedded({ folder, binary: process.env['MONGOD_BINARY'] });
  t.teardown(async () => {
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return embedded.url;
}
