/**
 * Reserved field names, mainly those that the server sets: responses contain them, no client and no policy sets them,
 * and what another program stored under their names is hidden.
 */

/** Their names in responses. A body may contain them; they are ignored. */
export const SERVER_RESPONSE_FIELDS: ReadonlySet<string> = new Set(['id', '_meta', '_expanded']);

/** Their stored names: visible with every visible document. */
export const ALWAYS_VISIBLE_FIELDS: readonly string[] = ['_id', '_meta'];

/** Both kinds of names, the `_id` first: the stored order. */
export const SERVER_FIELDS: ReadonlySet<string> = new Set([...ALWAYS_VISIBLE_FIELDS, ...SERVER_RESPONSE_FIELDS]);

/** Names that no field may have at any depth, because they have a special meaning for JavaScript or for the driver. */
export const FORBIDDEN_FIELD_NAMES: readonly string[] = ['__proto__', '_bsontype'];
