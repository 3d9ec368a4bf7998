/**
 * Which index rejected a write. The driver reports only the text of such an error. It contains the name of a unique
 * index, and nothing about others; the fields are read from the database.
 */
import type { Collection, Document, WriteError } from 'mongodb';
import { attachViolatedIndex, MONGO_ERROR_CODES, mongoErrorCode } from '../../database/errors.ts';
import { violatedIndexKind } from '../../database/mongo-error-codes.ts';

/** Adds to each error of a bulk write the key of the violated index, as errors of single writes have it. */
export async function addViolatedIndexKeys(collection: Collection, failed: readonly WriteError[]): Promise<void> {
  const duplicates = failed.filter(({ code }) => code === MONGO_ERROR_CODES.duplicateKey);
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

/** Executes a write. If an index cannot hold a document, the error gets the name and the fields of that index. */
export async function withViolatedIndex<T>(collection: Collection, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const kind = violatedIndexKind(mongoErrorCode(error));
    if (kind !== undefined && error instanceof Error) {
      const indexes: Document[] = await collection.listIndexes().toArray();
      const [index, ...others] = indexes.filter(({ key }) => Object.values(key).includes(kind));
      // The server does not report which of several it was.
      if (index !== undefined && others.length === 0) attachViolatedIndex(error, index['name'], fieldsOf(index, kind));
    }
    throw error;
  }
}

/** The paths that are indexed in this way. Those of a text index are not in its key. */
function fieldsOf({ key, weights = {} }: Document, kind: string): string[] {
  const paths = kind === 'text' ? Object.keys(weights) : Object.keys(key).filter((path) => key[path] === kind);
  return paths.filter((path) => path !== '$**');
}
