/**
 * Checks that a collection can be followed. The database has change events for plain collections only; a feed of a view
 * or a time series would silently stay empty.
 */
import type { CollectionInfo, Db } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import { MillraceError } from '../../lib/errors.ts';

/**
 * The collection as the database lists it; undefined if it does not exist yet, and then it can be followed.
 * @throws MillraceError `forbidden` for a view and a time series
 */
export async function requireWatchableCollection(
  db: Db,
  name: string,
  maxTimeMS: number,
): Promise<CollectionInfo | undefined> {
  const [found] = await withTranslatedErrors(() =>
    db.listCollections<CollectionInfo>({ name }, { maxTimeMS }).toArray(),
  );
  if (found === undefined || found.type === 'collection') return found;
  throw new MillraceError(
    'forbidden',
    'A view or a time series cannot be followed: the database does not report its changes',
  );
}
