/**
 * Which index a bulk insert broke. The driver passes on of such a failure only its text, which holds the index's name;
 * the fields are asked of the database. Not here: how it is worded (refusals.ts).
 */
import type { Collection, Document, WriteError } from 'mongodb';
import { CODE } from '../../database/errors.ts';

/** Adds to the errors of a bulk write the key of the index that each broke, as errors of single writes have it. */
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
