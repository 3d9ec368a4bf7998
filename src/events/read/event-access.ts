/**
 * Checks which collections' events a principal may request. It runs before the log is read, so that a client cannot
 * make the server scan for events that it must not see.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { type CollectionName, isCollectionName } from '../../database/parse-collection-name.ts';
import { SYSTEM_EVENT_TYPES } from '../../lib/event-types.ts';
import type { Policies } from '../../policies/policies.ts';
import { collectionEventTypes } from '../log/event.ts';
import { eventTypeMatcher, matchingSystemTypes } from './type-patterns.ts';

/**
 * The collections of the requested events that the principal may see in part; null for all.
 * @param types event types; `*` is a wildcard
 * @param live whether the response continues while rights change: then a missing value, such as a claim, may still come
 * @throws MillraceError `not-authenticated`, `forbidden` if no matching resource is readable, or if one of them names a
 * resource that is not readable
 */
export function readableEventCollections(
  policies: Pick<Policies, 'scope' | 'findLive' | 'readable'>,
  principal: Principal,
  types: readonly string[],
  live = false,
): readonly CollectionName[] | null {
  const resources = types.map(resourceOf);
  for (const resource of resources) {
    if (resource === null || (live && policies.findLive(principal, resource) !== null)) continue;
    policies.scope(principal, 'read', resource);
  }
  const named = resources.flatMap((resource) => (resource !== null && isCollectionName(resource) ? resource : []));
  if (named.length === types.length) return named;
  const { resources: readable, unnamed } = policies.readable(principal, live);
  if (unnamed || readable.includes('_events') || readable.includes('_admin:accounts')) return null;
  const wants = eventTypeMatcher(types);
  const collections = readable.filter(isCollectionName).filter((name) => collectionEventTypes(name).some(wants));
  // The same error as for a system type: it names the rights that are needed to see all events.
  if (collections.length === 0) policies.scope(principal, 'read', '_events');
  return collections;
}

/** The resource of the events of a type; null if the type does not determine it. */
function resourceOf(type: string): CollectionName | '_events' | '_admin:accounts' | null {
  const [thing = ''] = type.split('.');
  if (thing === 'system') {
    const all = matchingSystemTypes(type).every((one) => SYSTEM_EVENT_TYPES.get(one) === '_admin:accounts');
    return all ? '_admin:accounts' : '_events';
  }
  return isCollectionName(thing) && type.includes('.') ? thing : null;
}
