/** The migrations in their order. A released step is never changed, only followed by another one. */
import type { Migration } from './migrations.ts';
import { ensureCollection } from './system-collection.ts';

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'create-settings',
    // With both states of a change from its first row on: the row of the version is in it.
    run: async ({ data }) => void (await ensureCollection(data, '_settings')),
  },
];
