/** The migrations in their order. A released step is never changed, only followed by another one. */
import type { Db } from 'mongodb';
import { ensureCollection } from './system-collection.ts';

/** The three databases of an installation. */
export interface MigrationDeps {
  readonly data: Db;
  readonly log: Db;
  readonly files: Db;
}

/** One ordered step from the schema version below to its own. */
export interface Migration {
  /** 1 for the first, then without gaps. */
  readonly version: number;
  /** What it does, in kebab case; stored with the version. */
  readonly name: string;
  /**
   * Changes the stored data. It must be idempotent, because an interrupted step runs again from its beginning, and it
   * must accept that nothing is stored: a new database runs all steps.
   */
  run(deps: MigrationDeps): Promise<void>;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'create-settings',
    // With both states of a change from its first row on: the row of the version is in it.
    run: async ({ data }) => void (await ensureCollection(data, '_settings')),
  },
];
