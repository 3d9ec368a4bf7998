/**
 * Checks which collections' events a principal may request. It runs before the log is read, so that a client cannot
 * make the server search events of which it would get none. Pure. Not here: what is shown of one row (visible-row.ts).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { type CollectionName, isCollectionName } from '../../database/names.ts';
import { SYSTEM_TYPES } from '../../kernel/event-types.ts';
import type { Policies } from '../../policies/policies.ts';
import { typesOf } from '../log/event.ts';
import { systemTypesOf, wanting } from './wanted-types.ts';

/**
 * The collections of the requested events of which the principal may see something; null for all.
 * @param types event types, in which `*` stands for anything
 * @param live whether the answer goes on while rights change: then a missing value, such as a claim, is waited for
 * @throws MillraceError `not-authenticated`, `forbidden` when nothing may be read that they could mean, or when one of
 * them names a place that may not be read
 */
export function hearable(
  policies: Pick<Policies, 'scope' | 'findLive' | 'readable'>,
  principal: Principal,
  types: readonly string[],
  live = false,
): readonly CollectionName[] | null {
  const places = types.map(placeOf);
  for (const place of places) {
    if (place === null || (live && policies.findLive(principal, place) !== null)) continue;
    policies.scope(principal, 'read', place);
  }
  const named = places.flatMap((place) => (place !== null && isCollectionName(place) ? place : []));
  if (named.length === types.length) return named;
  const { places: readable, unnamed } = policies.readable(principal, live);
  if (unnamed || readable.includes('events') || readable.includes('admin:accounts')) return null;
  const wants = wanting(types);
  const collections = readable.filter(isCollectionName).filter((name) => typesOf(name).some(wants));
  // The same error as for a type of the system: it names the rights that are needed to see all events.
  if (collections.length === 0) policies.scope(principal, 'read', 'events');
  return collections;
}

/** The place to which the events of a type belong; null when the type leaves that open. */
function placeOf(type: string): CollectionName | 'events' | 'admin:accounts' | null {
  const [thing = ''] = type.split('.');
  if (thing === 'system') {
    const all = systemTypesOf(type).every((one) => SYSTEM_TYPES.get(one) === 'admin:accounts');
    return all ? 'admin:accounts' : 'events';
  }
  return isCollectionName(thing) && type.includes('.') ? thing : null;
}
