/**
 * What can be followed: the database tells the changes of collections alone, and a feed of anything else would stay
 * empty for ever without a word. Not here: what can be read as of one moment (realtime/answer/snapshot-store.ts).
 */
import type { CollectionInfo, Db } from 'mongodb';
import { translated } from '../../database/errors.ts';
import { MillraceError } from '../../kernel/errors.ts';

/**
 * What there is of a name; undefined when there is nothing yet, which can be followed.
 * @throws MillraceError `forbidden` for a view and a time series
 */
export async function requireChanges(db: Db, name: string, maxTimeMS: number): Promise<CollectionInfo | undefined> {
  const [found] = await translated(() => db.listCollections<CollectionInfo>({ name }, { maxTimeMS }).toArray());
  if (found === undefined || found.type === 'collection') return found;
  throw new MillraceError(
    'forbidden',
    'A view or a time series cannot be followed: the database does not tell its changes',
  );
}
