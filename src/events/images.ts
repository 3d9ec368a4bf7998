/**
 * Sees to it that collections keep pre- and post-images, without which updates and deletes carry no states. Ours are
 * made with them; those made by others are switched over here. Changes before the switch stay without images.
 */
import type { CollectionInfo, Db } from 'mongodb';
import { CODE, serverCode } from '../database/errors.ts';

/** Switches images on where they are off: in all collections, or in the named one. Returns the names switched. */
export async function keepImages(db: Db, name?: string): Promise<string[]> {
  const filter = name === undefined ? { type: 'collection' } : { type: 'collection', name };
  const found = await db.listCollections<CollectionInfo>(filter).toArray();
  const without = found.filter(
    (one) => !one.name.startsWith('system.') && one.options?.['changeStreamPreAndPostImages']?.enabled !== true,
  );
  const switched: string[] = [];
  for (const one of without) {
    const done = await db
      .command({ collMod: one.name, changeStreamPreAndPostImages: { enabled: true } })
      .then(() => true)
      .catch(missing);
    if (done) switched.push(one.name);
  }
  return switched;
}

/** A collection that went away meanwhile needs no images. */
function missing(error: unknown): false {
  if (serverCode(error) === CODE.namespaceNotFound) return false;
  throw error;
}
