/**
 * Which members probably name documents of other collections: their values are ids there. A bounded number of look-ups, first
 * where the names are alike. Not here: how an id is looked up (shapes.ts).
 */
import type { CollectionName } from '../../database/names.ts';
import type { FoundMember } from './member-shapes.ts';

/** Look-ups for one collection. */
const MAX_LOOKUPS = 40;
/** Look-ups for one member, besides those in collections with a name like its own. */
const MAX_STRANGERS = 10;
/** An id that hardly means anything else: an ObjectId, or a UUID. */
const UNMISTAKABLE = /^(?:[0-9a-f]{24}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/**
 * The likely collection by the path of a member.
 * @param names collections that may be named
 * @param holdsAny whether one of these ids belongs to a document there
 * @param until when to stop, as `performance.now` tells the time
 */
export async function likelyReferences(
  members: readonly FoundMember[],
  names: readonly CollectionName[],
  holdsAny: (name: CollectionName, ids: readonly string[]) => Promise<boolean>,
  until: number,
): Promise<ReadonlyMap<string, CollectionName>> {
  const found = new Map<string, CollectionName>();
  let lookups = 0;
  for (const { shape, ids } of members) {
    if (ids.length === 0) continue;
    for (const name of candidates(shape.path, ids, names)) {
      if (lookups >= MAX_LOOKUPS || performance.now() > until) return found;
      lookups += 1;
      if (!(await holdsAny(name, ids))) continue;
      found.set(shape.path, name);
      break;
    }
  }
  return found;
}

/** A short text or a number may be an id in any collection, so only those with a name like the member's are asked. */
function candidates(path: string, ids: readonly string[], names: readonly CollectionName[]): readonly CollectionName[] {
  const member = stem((path.split('.').at(-1) ?? '').replace(/_?(?:ids?|refs?|codes?|keys?)(?:\[\])*$/i, ''));
  const stems = new Map(names.map((name) => [name, stem(name)]));
  const alike = names.filter((name) => {
    const other = stems.get(name) ?? '';
    // `billingCustomer` names a customer.
    return other !== '' && member.endsWith(other);
  });
  if (!ids.every((id) => UNMISTAKABLE.test(id))) return alike;
  return [...alike, ...names.filter((name) => !alike.includes(name)).slice(0, MAX_STRANGERS)];
}

/** A name in small letters, without signs and without the ending of an English plural. */
function stem(name: string): string {
  const letters = name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  if (letters.endsWith('ies')) return `${letters.slice(0, -3)}y`;
  return letters.replace(/(?<=s|x|ch|sh)es$|s$/, '');
}
