/**
 * Which index a bulk insert violated. The driver reports only the text of such an error, which holds the index's name;
 * the fields are asked of the database. Not here: how the error is worded (refusals.ts).
 */
import type { Collection, Document, WriteError } from 'mongodb';
import { CODE } from '../../database/errors.ts';

/** Adds to each error of a bulk write the key of the violated index, as errors of single writes have it. */
export async function addViolatedKeys(collection: Collection, failed: readonly WriteError[]): Promise<void> {
  const duplicates = failed.filter(({ code }) => code === CODE.duplicateKey);
  if (duplicates.every((error) => names(error, '_id_'))) return;
  const indexes: Document[] = await collection.listIndexes().toArray();
  for (const error of duplicates) {
    const broken = indexes.find(({ name }) => names(error, String(name)));
    if (broken !== undefined && error.err) Object.assign(error.err, { keyPattern: broken['key'] });
  }
}

function names(error: WriteError, index: string): boolean {
  return error.errmsg?.includes(` index: ${index} dup key: `) === true;
}
