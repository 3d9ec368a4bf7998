/**
 * The schema version of the stored data, and the migrations that raise it. One row of `_settings` has the version for
 * all three databases, the data folder and the bucket. It is in `<db>`, because only `<db>` cannot be lost: a restore
 * of `<db>` without its log must still have its version.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { SYSTEM_COLLECTIONS, type SystemCollection } from '../lib/event-types.ts';
import { MONGO_ERROR_CODES, mongoErrorCode } from './errors.ts';
import { Lease } from './lease.ts';
import { UnusableDatabase } from './startup-error.ts';
import { ensureCollection, SYSTEM_CHANGE_STAMP, type SystemDocumentMeta, stampUpdate } from './system-collection.ts';

/** The three databases of an instance. */
export interface MigrationDeps {
  readonly data: Db;
  readonly log: Db;
  readonly files: Db;
}

/** One ordered step from the schema version below to its own. */
export interface Migration {
  /** 1 for the first, then without gaps. */
  readonly version: number;
  /** A kebab-case description; stored with the version. */
  readonly name: string;
  /**
   * Changes the stored data. It must be idempotent, because an interrupted step runs again from its beginning, and it
   * must work without stored data: a new database runs all steps.
   */
  run(deps: MigrationDeps): Promise<void>;
}

/** The migrations in order. A released step is never changed, only followed by another one. */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'create-settings-collection',
    // With both states of a change from its first row on: the version's row is in it.
    run: async ({ data }) => void (await ensureCollection(data, '_settings')),
  },
];

export interface MigrateOptions {
  /** All steps in order; the version of the last one is the newest that the program knows. */
  readonly migrations?: readonly Migration[];
  /** How long the lease outlives a killed process, in milliseconds. */
  readonly leaseMs?: number;
}

interface SchemaRow {
  _id: string;
  version: number;
  /** The completed steps, in order. */
  migrations: { version: number; name: string; at: Date }[];
  _meta: SystemDocumentMeta;
}

const COLLECTION: SystemCollection = '_settings';
const ID = 'schema';
/** The collection of the log in which unreleased programs stored a version. */
const UNRELEASED = 'format';
/** How often a process checks whether another one has finished, in milliseconds. */
const POLL_MS = 50;

/**
 * Migrates the stored data to the newest schema version that this program knows; one read if it has that version
 * already. One process runs the missing steps under a lease, and others wait for it.
 * @throws UnusableDatabase if the data is of a newer version or was written before versions were stored; nothing is
 * changed then
 */
export async function migrate(deps: MigrationDeps, options: MigrateOptions = {}): Promise<void> {
  const { migrations = MIGRATIONS, leaseMs = 5_000 } = options;
  const collection: ConstructorParameters<typeof Lease>[0]['collection'] = deps.log.collection('lease');
  const timing = { ttlMs: leaseMs, renewMs: leaseMs / 4 };
  const lease = new Lease({ collection, id: ID, owner: randomUUID(), ...timing });
  try {
    for (;;) {
      const version = await storedVersion(deps, migrations);
      const next = migrations[version];
      if (next === undefined) return;
      if (lease.held()) {
        await next.run(deps);
        await raiseVersion(deps, next);
      } else if (!(await lease.acquire())) await pause(POLL_MS);
      // The version is read again under the lease: the previous holder may have raised it.
    }
  } finally {
    await lease.release();
  }
}

const rowsOf = ({ data }: Pick<MigrationDeps, 'data'>) => data.collection<SchemaRow>(COLLECTION);

/** The schema version of the stored data, 0 if there is none yet. */
async function storedVersion(deps: MigrationDeps, migrations: readonly Migration[]): Promise<number> {
  const database = deps.data.databaseName;
  const newest = migrations.length;
  const schema = await readSchema(deps);
  if (schema !== null && schema.version > newest) {
    throw new UnusableDatabase(
      `The database '${database}' was written by a newer version of Millrace (its schema version is ${schema.version}, ` +
        `this program knows ${newest}); update Millrace, or restore a backup from before the update.`,
    );
  }
  if (schema !== null && hasSteps(schema, migrations)) return schema.version;
  // Read again after the collections: the version is stored before the first of them, perhaps by another process just
  // now.
  if (schema === null && !(await hasProductCollections(deps))) return 0;
  if (schema === null && (await readSchema(deps)) !== null) return await storedVersion(deps, migrations);
  throw new UnusableDatabase(
    `The database '${database}' was written by an unreleased version of Millrace and cannot be migrated; ` +
      'start with another database or another data folder.',
  );
}

type StoredSchema = Pick<SchemaRow, 'version' | 'migrations'>;

async function readSchema(deps: MigrationDeps): Promise<StoredSchema | null> {
  return await rowsOf(deps).findOne({ _id: ID }, { projection: { version: 1, migrations: 1 } });
}

/** Whether the stored steps are those of this program: unreleased programs had others with the same numbers. */
function hasSteps({ version, migrations: stored }: StoredSchema, migrations: readonly Migration[]): boolean {
  return migrations.slice(0, version).every(({ name }, index) => stored[index]?.name === name);
}

/** Whether a Millrace has stored data here. The collection of the version does not count: it is created just before. */
async function hasProductCollections({ data, log }: MigrationDeps): Promise<boolean> {
  const names = Object.keys(SYSTEM_COLLECTIONS).filter((name) => name !== COLLECTION);
  const [own, unreleased] = await Promise.all([
    data.listCollections({ name: { $in: names } }, { nameOnly: true }).hasNext(),
    log.listCollections({ name: UNRELEASED }, { nameOnly: true }).hasNext(),
  ]);
  return own || unreleased;
}

/** Stores that a step has run, unless a process that took over the lease has stored it already. */
async function raiseVersion(deps: MigrationDeps, { version, name }: Migration): Promise<void> {
  const at = new Date();
  const isFirst = version === 1;
  try {
    await rowsOf(deps).updateOne(
      { _id: ID, version: version - 1 },
      {
        $set: { version, ...stampUpdate(SYSTEM_CHANGE_STAMP, at) },
        $push: { migrations: { version, name, at } },
        $inc: { '_meta.revision': 1 },
        $setOnInsert: { '_meta.createdAt': at, '_meta.createdBy': null },
      },
      { upsert: isFirst },
    );
  } catch (error) {
    if (!isFirst || mongoErrorCode(error) !== MONGO_ERROR_CODES.duplicateKey) throw error;
  }
}
