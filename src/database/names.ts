/**
 * The names of collections. The only place that makes a `CollectionName`, so a name that reached a store is one a
 * client may use: internal collections (leading `_`) cannot be named by any route.
 */
import { pathParameter } from '../contract/parameters.ts';
import { MillraceError } from '../kernel/errors.ts';

declare const brand: unique symbol;

/** The checked name of a collection of documents. */
export type CollectionName = string & { readonly [brand]: 'CollectionName' };

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const RESERVED = new Set(['system', 'files', 'functions', 'events', 'admin', 'webhooks']);

const OTHERS =
  'GET /admin/collections?reachable=false lists those that other programs store under other names. Such a collection can be renamed in the dashboard, or be shown under a name of the API by a view of the database';

/** The parameter `:collection` of a path. */
export const COLLECTION = pathParameter('collection', 'A letter, then up to 63 letters, digits, _ or -.', {
  type: 'string',
  pattern: NAME.source,
  not: { enum: [...RESERVED] },
});

/** Whether clients may use a name. */
export function isCollectionName(text: string): text is CollectionName {
  return NAME.test(text) && !RESERVED.has(text);
}

/**
 * The name of a collection that another program made and that no route takes, such as `shop.users`. Names that begin
 * with `_` or `system.` belong to the server and to the database.
 */
export type OtherName = string & { readonly [other]: 'OtherName' };

declare const other: unique symbol;

/** Whether a name is one of these. */
export function isOtherName(text: string): text is OtherName {
  return text !== '' && !/^(?:_|system\.)|[\0$]/.test(text) && !isCollectionName(text);
}

/**
 * Checks a name that came from a client.
 * @throws MillraceError `invalid-name`
 */
export function parseCollectionName(text: string): CollectionName {
  if (isCollectionName(text)) return text;
  throw new MillraceError('invalid-name', `'${text.slice(0, 80)}' is not a name for a collection`, {
    hint: RESERVED.has(text)
      ? `The names ${[...RESERVED].join(', ')} are reserved`
      : `A name is a letter followed by up to 63 letters, digits, _ or -. ${OTHERS}`,
  });
}

/** A stored path as clients write it: `_id` is `id` to them. */
export function wirePath(path: string): string {
  return path.replace(/^_id(?=\.|$)/, 'id');
}
