/** Inserts documents whose ids tell what they are for, so that a second insert of the same one changes nothing. */
import { type Collection, type Document, MongoServerError } from 'mongodb';
import { MONGO_ERROR_CODES, withTranslatedErrors } from './errors.ts';

/**
 * Inserts documents, acknowledged by a majority. A plain command, because `insertMany` costs the process several times
 * as much.
 * @returns the indexes of those that already exist and stay unchanged
 */
export async function insertNew<T extends Document>(
  collection: Collection<T>,
  documents: readonly object[],
): Promise<ReadonlySet<number>> {
  if (documents.length === 0) return new Set();
  const command = {
    insert: collection.collectionName,
    documents,
    ordered: false,
    writeConcern: { w: 'majority' },
  };
  const reply = await withTranslatedErrors(async () => {
    const result = await collection.db.command(command);
    // As an error of the driver, so that a caller can tell that a repetition helps.
    if (result['writeConcernError']) throw new MongoServerError(result['writeConcernError']);
    return result;
  });
  const issues: readonly Document[] = reply['writeErrors'] ?? [];
  const issue = issues.find(({ code }) => code !== MONGO_ERROR_CODES.duplicateKey);
  if (issue !== undefined) throw new Error(`A document could not be stored: ${issue['errmsg']}`);
  return new Set(issues.map(({ index }) => index));
}
