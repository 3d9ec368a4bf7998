/**
 * Which fields probably reference documents of other collections: their values are ids there. A bounded number of
 * queries, similar names first.
 */
import type { CollectionName } from '../../database/parse-collection-name.ts';
import type { InferredField } from './infer-fields.ts';

/** Queries for one collection. */
const MAX_LOOKUPS = 40;
/** Queries for one field, besides those in collections with a name like its own. */
const MAX_ANONYMOUS = 10;
/** An id that can hardly be anything else: an ObjectId, or a UUID. */
const UNMISTAKABLE = /^(?:[0-9a-f]{24}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/**
 * The likely collection by the path of a field.
 * @param names candidate collections
 * @param holdsAny whether one of these ids belongs to a document there
 * @param until when to stop, as a value of `performance.now`
 */
export async function inferReferences(
  fields: readonly InferredField[],
  names: readonly CollectionName[],
  holdsAny: (name: CollectionName, ids: readonly string[]) => Promise<boolean>,
  until: number,
): Promise<ReadonlyMap<string, CollectionName>> {
  const found = new Map<string, CollectionName>();
  let lookups = 0;
  for (const { shape, ids } of fields) {
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

/** A short text or a number may be an id in any collection, so only those with a name like the field's are queried. */
function candidates(path: string, ids: readonly string[], names: readonly CollectionName[]): readonly CollectionName[] {
  const field = stem((path.split('.').at(-1) ?? '').replace(/_?(?:ids?|refs?|codes?|keys?)(?:\[\])*$/i, ''));
  const stems = new Map(names.map((name) => [name, stem(name)]));
  const alike = names.filter((name) => {
    const other = stems.get(name) ?? '';
    // `billingCustomer` refers to a customer.
    return other !== '' && field.endsWith(other);
  });
  if (!ids.every((id) => UNMISTAKABLE.test(id))) return alike;
  return [...alike, ...names.filter((name) => !alike.includes(name)).slice(0, MAX_ANONYMOUS)];
}

/** A name in lower case, without punctuation and without the ending of an English plural. */
function stem(name: string): string {
  const emails = name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  if (emails.endsWith('ies')) return `${emails.slice(0, -3)}y`;
  return emails.replace(/(?<=s|x|ch|sh)es$|s$/, '');
}
