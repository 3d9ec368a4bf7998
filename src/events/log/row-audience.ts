/**
 * The places that a policy must allow to read before a row may be seen: its collection, all events, or the accounts of
 * others. Pure. Not here: cutting the row to what may be seen (visible-row.ts).
 */
import { isCollectionName } from '../../database/names.ts';
import type { Place } from '../../policies/policies.ts';
import type { LogRow } from './row.ts';

/** System collections about people. Their readers may also read them at `/admin`. */
const ACCOUNTS: ReadonlySet<string> = new Set(['_users', '_sessions', '_keys', '_activity']);

/**
 * A reader that may read one of these places may receive the row. They are the row's own place and, for a rename, the
 * place of the new name, because its readers lose the documents that were there.
 */
export function placesOfRow({ operation, collection, to }: LogRow): readonly [own: Place, taken?: Place] {
  const own = placeOfRow(collection);
  return operation === 'rename' ? [own, placeOfRow(to)] : [own];
}

/** @param collection of the row; null for a row that concerns all collections */
function placeOfRow(collection: string | null): Place {
  if (collection === null) return 'events';
  if (ACCOUNTS.has(collection)) return 'admin:accounts';
  return isCollectionName(collection) ? collection : 'events';
}
