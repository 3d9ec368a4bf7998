/**
 * The resources that a policy must allow to read before a row is visible: its collection, all events, or the users of
 * others.
 */
import { isCollectionName } from '../../database/parse-collection-name.ts';
import { isSystemCollection, SYSTEM_COLLECTIONS, SYSTEM_EVENT_TYPES } from '../../lib/event-types.ts';
import type { Resource } from '../../policies/scope.ts';
import { systemEventType } from './event.ts';
import type { LogRow } from './log-row.ts';

/**
 * A reader of one of these resources may receive the row. They are the row's own resource and, for a rename, that of
 * the new name, because its readers lose the documents that were there.
 */
export function resourcesOfRow(row: LogRow): readonly [own: Resource, taken?: Resource] {
  const type = systemEventType(row);
  const own = (type && SYSTEM_EVENT_TYPES.get(type)) ?? resourceOf(row.collection);
  return row.operation === 'rename' ? [own, resourceOf(row.to)] : [own];
}

/**
 * @param collection null for a row that concerns all collections. An unknown system collection is as restricted as
 * those about users.
 */
function resourceOf(collection: string | null): Resource {
  if (collection === null) return '_events';
  if (isSystemCollection(collection)) return SYSTEM_COLLECTIONS[collection].audience;
  if (collection.startsWith('_')) return '_admin:accounts';
  return isCollectionName(collection) ? collection : '_events';
}
