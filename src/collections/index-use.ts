/** Size and use count of each index, from the database's statistics. An unused index costs every write for nothing. */
import type { Document } from 'mongodb';
import { serverCode, translated } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import type { CollectionName } from '../database/names.ts';

/**
 * Null where the database does not report it: the server's database user lacks the right, or the kind of collection has
 * no such count.
 */
export interface IndexUse {
  readonly sizeBytes: number | null;
  /** Operations since `since`, on the replica set member that was queried. */
  readonly uses: number | null;
  /** When counting began: the index was created, or that member started. */
  readonly since: string | null;
}

export const UNKNOWN_USE: IndexUse = { sizeBytes: null, uses: null, since: null };

/** By index name in the database. */
export async function usesOfIndexes(
  { data }: Pick<Mongo, 'data'>,
  name: CollectionName,
): Promise<ReadonlyMap<string, IndexUse>> {
  const reported = (stage: Document) =>
    translated(async () => {
      try {
        return await data.collection(name).aggregate([stage]).toArray();
      } catch (error) {
        if (serverCode(error) === undefined) throw error;
        return [];
      }
    });
  const [[stored], counted] = await Promise.all([
    reported({ $collStats: { storageStats: {} } }),
    reported({ $indexStats: {} }),
  ]);
  const sizes: Readonly<Record<string, unknown>> = stored?.['storageStats']?.['indexSizes'] ?? {};
  const uses = new Map<string, IndexUse>();
  for (const [index, size] of Object.entries(sizes)) uses.set(index, { ...UNKNOWN_USE, sizeBytes: Number(size) });
  for (const { name: index, accesses } of counted) {
    const since: unknown = accesses?.since;
    const use = { uses: Number(accesses?.ops ?? 0), since: since instanceof Date ? since.toISOString() : null };
    uses.set(index, { ...(uses.get(index) ?? UNKNOWN_USE), ...use });
  }
  return uses;
}
