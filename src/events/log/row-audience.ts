/**
 * The places that a policy must allow to read before a row may be seen: its collection, all events, or the accounts of
 * others. Pure. Not here: cutting the row to what may be seen (visible-row.ts).
 */
import { isCollectionName } from '../../database/names.ts';
import { isSystemCollection, SYSTEM_COLLECTIONS, SYSTEM_TYPES } from '../../kernel/event-types.ts';
import type { Place } from '../../policies/scope.ts';
import { systemType } from './event.ts';
import type { LogRow } from './row.ts';

/**
 * A reader that may read one of these places may receive the row. They are the row's own place and, for a rename, the
 * place of the new name, because its readers lose the documents that were there.
 */
export function placesOfRow(row: LogRow): readonly [own: Place, taken?: Place] {
  const type = systemType(row);
  const own = (type && SYSTEM_TYPES.get(type)) ?? placeOf(row.collection);
  return row.operation === 'rename' ? [own, placeOf(row.to)] : [own];
}

/**
 * @param collection null for a row that concerns all collections. A collection of the system that this version does not
 * know is as secret as those about people.
 */
function placeOf(collection: string | null): Place {
  if (collection === null) return 'events';
  if (isSystemCollection(collection)) return SYSTEM_COLLECTIONS[collection].audience;
  if (collection.startsWith('_')) return 'admin:accounts';
  return isCollectionName(collection) ? collection : 'events';
}
