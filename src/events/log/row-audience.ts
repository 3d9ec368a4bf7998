/** What a policy must allow to read for a row to be seen: its collection, all events, or the accounts of others. Pure. */
import { isCollectionName } from '../../database/names.ts';
import type { Place } from '../../policies/policies.ts';
import type { LogRow } from './row.ts';

/** Ours that tell of people: who reads them may also ask for them at `/admin`. */
const ACCOUNTS: ReadonlySet<string> = new Set(['_users', '_sessions', '_keys', '_activity']);

/**
 * The places of which one is enough for a row to be heard of: its own and, of a rename, that of the name it takes, whose
 * readers lose what was there.
 */
export function placesOfRow({ operation, collection, to }: LogRow): readonly [own: Place, taken?: Place] {
  const own = placeOfRow(collection);
  return operation === 'rename' ? [own, placeOfRow(to)] : [own];
}

/** @param collection of the row; null for what concerns all of them */
function placeOfRow(collection: string | null): Place {
  if (collection === null) return 'events';
  if (ACCOUNTS.has(collection)) return 'admin:accounts';
  return isCollectionName(collection) ? collection : 'events';
}
