/**
 * Names of collections. Only this module creates a `CollectionName`, so every name in a store is one that clients may
 * use: no route accepts internal collections (leading `_`).
 */
import { MillraceError } from '../lib/errors.ts';
import { pathParameter } from '../openapi/parameters.ts';

declare const brand: unique symbol;

/** The validated name of a collection of documents. */
export type CollectionName = string & { readonly [brand]: 'CollectionName' };

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const RESERVED = new Set(['system']);

const OTHERS =
  'GET /admin/collections?reachable=false lists those that other programs store under other names. Such a collection can be renamed in the dashboard, or be exposed under a valid name by a view of the database';

/** The parameter `:collection` of a path. */
export const COLLECTION_PARAMETER = pathParameter('collection', 'A letter, then up to 63 letters, digits, _ or -.', {
  type: 'string',
  pattern: NAME.source,
  not: { enum: [...RESERVED] },
});

/** Whether clients may use a name. */
export function isCollectionName(text: string): text is CollectionName {
  return NAME.test(text) && !RESERVED.has(text);
}

/**
 * The name of a collection that another program created and that no route accepts, such as `shop.users`. Names that
 * begin with `_` or `system.` belong to the server and to the database.
 */
export type ForeignCollectionName = string & { readonly [other]: 'OtherName' };

declare const other: unique symbol;

/** Whether a name is one of these. */
export function isForeignCollectionName(text: string): text is ForeignCollectionName {
  return text !== '' && !/^(?:_|system\.)|[\0$]/.test(text) && !isCollectionName(text);
}

/**
 * Checks a name that came from a client.
 * @throws MillraceError `invalid-collection-name`
 */
export function parseCollectionName(text: string): CollectionName {
  if (isCollectionName(text)) return text;
  throw new MillraceError('invalid-collection-name', `'${text.slice(0, 80)}' is not a valid collection name`, {
    hint: RESERVED.has(text)
      ? `Reserved names: ${[...RESERVED].join(', ')}`
      : `A name is a letter followed by up to 63 letters, digits, _ or -. ${OTHERS}`,
  });
}

/** A stored path as clients write it: `_id` is `id` to them. */
export function publicFieldPath(path: string): string {
  return path.replace(/^_id(?=\.|$)/, 'id');
}
