/** Size and use count of each index, from the database's statistics. An unused index costs every write for nothing. */
import type { Document } from 'mongodb';
import { mongoErrorCode, withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';

/**
 * Null where the database does not report it: the server's database user lacks the right, or the kind of collection has
 * no such count.
 */
export interface IndexUsage {
  readonly sizeBytes: number | null;
  /** Operations since `since`, on the replica set member that was queried. */
  readonly uses: number | null;
  /** When counting began: the index was created, or that member started. */
  readonly since: string | null;
}

export const UNKNOWN_INDEX_USAGE: IndexUsage = { sizeBytes: null, uses: null, since: null };

/** By index name in the database. */
export async function readIndexUsage(
  { data }: Pick<Mongo, 'data'>,
  name: CollectionName,
): Promise<ReadonlyMap<string, IndexUsage>> {
  const reported = (stage: Document) =>
    withTranslatedErrors(async () => {
      try {
        return await data.collection(name).aggregate([stage]).toArray();
      } catch (error) {
        if (mongoErrorCode(error) === undefined) throw error;
        return [];
      }
    });
  const [[stored], counted] = await Promise.all([
    reported({ $collStats: { storageStats: {} } }),
    reported({ $indexStats: {} }),
  ]);
  const sizes: Readonly<Record<string, unknown>> = stored?.['storageStats']?.['indexSizes'] ?? {};
  const uses = new Map<string, IndexUsage>();
  for (const [index, size] of Object.entries(sizes))
    uses.set(index, { ...UNKNOWN_INDEX_USAGE, sizeBytes: Number(size) });
  for (const { name: index, accesses } of counted) {
    const since: unknown = accesses?.since;
    const use = { uses: Number(accesses?.ops ?? 0), since: since instanceof Date ? since.toISOString() : null };
    uses.set(index, { ...(uses.get(index) ?? UNKNOWN_INDEX_USAGE), ...use });
  }
  return uses;
}
