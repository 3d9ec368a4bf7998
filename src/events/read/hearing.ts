/**
 * Who may ask for events at all, and of which collections: asked before anything of the log is read, so that nobody makes
 * the server look through events none of which it would be told. Pure. Not here: what is told of one row (visible-row.ts).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { type CollectionName, isCollectionName } from '../../database/names.ts';
import type { Policies } from '../../policies/policies.ts';
import { typesOf } from '../log/event.ts';
import { wanting } from './feed-query.ts';

/**
 * The collections whose events a principal asks for and may be told something of; null for everything.
 * @param types event types, in which `*` stands for anything
 * @throws MillraceError `not-authenticated`, `forbidden` when nothing may be read that they could mean, or when one of
 * them names a place that may not be read
 */
export function hearable(
  policies: Pick<Policies, 'scope' | 'readable'>,
  principal: Principal,
  types: readonly string[],
): readonly CollectionName[] | null {
  const places = types.map(placeOf);
  for (const place of places) if (place !== null) policies.scope(principal, 'read', place);
  const named = places.flatMap((place) => (place === null || place === 'events' ? [] : place));
  if (named.length === types.length) return named;
  const { places: readable, unnamed } = policies.readable(principal);
  if (unnamed || readable.includes('events') || readable.includes('admin:accounts')) return null;
  const wants = wanting(types);
  const collections = readable.filter(isCollectionName).filter((name) => typesOf(name).some(wants));
  // Refused as a type of the system is: with what one has to be to see all events.
  if (collections.length === 0) policies.scope(principal, 'read', 'events');
  return collections;
}

/** Whose events a type names; null where that is left open. */
function placeOf(type: string): CollectionName | 'events' | null {
  const [thing = ''] = type.split('.');
  if (thing === 'system') return 'events';
  return isCollectionName(thing) && type.includes('.') ? thing : null;
}
