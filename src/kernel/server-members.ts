/**
 * Reserved names of members, above all of those that the server sets: answers show them, no client and no policy sets
 * them, and what another program stored under their names is not shown. Not here: how they are written (database/json).
 */

/** As answers name them. A body may carry them as they were shown; they are ignored. */
export const ANSWER_MEMBERS: ReadonlySet<string> = new Set(['id', '_meta', '_expanded']);

/** As they are stored: visible with every visible document. */
export const ALWAYS_VISIBLE: readonly string[] = ['_id', '_meta'];

/** Under both kinds of names, the `_id` first: so documents are stored. */
export const SERVER_MEMBERS: ReadonlySet<string> = new Set([...ALWAYS_VISIBLE, ...ANSWER_MEMBERS]);

/** Names that no member may have at any depth, because they have a special meaning for JavaScript or for the driver. */
export const REFUSED_NAMES: readonly string[] = ['__proto__', '_bsontype'];
