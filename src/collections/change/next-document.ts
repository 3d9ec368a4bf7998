/**
 * The stored form of a document and the pure functions that compute a new one: creation, replacement, merge patch, other
 * changes.
 * They work on exact BSON values (`decodeStored`), so what a foreign writer stored as a date or a decimal stays one
 * when its JSON did not change. Not here: JSON and BSON bytes (database/json), access and preconditions (collections).
 */
import type { Document, ObjectId } from 'mongodb';
import { actorOf, type Principal } from '../../auth/identity/principal.ts';
import { idText, parseNewId } from '../../database/json/ids.ts';
import { refuseStoredId } from '../../database/json/parse-json.ts';
import { metaToWire } from '../../database/json/to-wire.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import { ANSWER_MEMBERS, SERVER_MEMBERS } from '../../kernel/server-members.ts';
import { TypeKeeper } from './kept-types.ts';

/** Who writes, in which request, when: what `_meta` records. */
export interface WriteOrigin {
  readonly principal: Principal;
  /** The request id, `req_…`. */
  readonly request: string;
  readonly now: Date;
}

/** A JSON object as it came out of the strict parser. */
export type JsonObject = { [member: string]: unknown };

/**
 * The document that a create stores: `_id`, the members, `_meta` with revision 1.
 * @param newId makes the id when the body brings none
 * @throws MillraceError `invalid-id`, `unsupported-key`
 */
export function createStored(body: JsonObject, origin: WriteOrigin, newId: () => ObjectId): Document {
  const id = Object.hasOwn(body, 'id') ? parseNewId(body['id']) : newId();
  return assemble({ _id: id }, storable(body), firstMeta(origin));
}

/** The document that a full replacement stores: only what the body says remains, and what the wire hides. */
export function replaceStored(old: Document, body: JsonObject, origin: WriteOrigin): Document {
  return assemble(hidden(old), new TypeKeeper().keepMembers(old, storable(body)), nextMeta(old['_meta'], origin));
}

/** The document after a merge patch (RFC 7396): null removes a member, objects merge, everything else replaces. */
export function mergeStored(old: Document, patch: JsonObject, origin: WriteOrigin): Document {
  return assemble(
    hidden(old),
    mergePatch(visibleMembers(old), storable(patch), new TypeKeeper()),
    nextMeta(old['_meta'], origin),
  );
}

/**
 * The document after a change of what clients see: its members between `id` and `_meta`, which the change may read.
 * @param change computes the new members from the old ones
 */
export function changeStored(old: Document, change: (shown: JsonObject) => unknown, origin: WriteOrigin): Document {
  return withMembers(old, changeMembers(old, visibleMembers(old), change), origin);
}

/** The members after a change that may read these of a document, and what every client sees of it. */
export function changeMembers(old: Document, seen: JsonObject, change: (shown: JsonObject) => unknown): JsonObject {
  const next = change({ id: idText(old['_id']), ...seen, _meta: metaToWire(old['_meta']) });
  if (!isPlain(next))
    throw new MillraceError('invalid-patch', 'After the patch the document would not be a JSON object');
  return storable(next);
}

/** The document with other members between what the wire hides and `_meta`. */
export function withMembers(old: Document, members: JsonObject, origin: WriteOrigin): Document {
  return assemble(hidden(old), members, nextMeta(old['_meta'], origin));
}

/** The document with other members between what the wire hides and `_meta`, which stays. */
export function withOtherMembers(document: Document, members: JsonObject): Document {
  return assemble(hidden(document), members, document['_meta']);
}

/** The members of `body` that a document stores. */
export function storable(body: JsonObject): JsonObject {
  refuseStoredId(body);
  for (const name of ANSWER_MEMBERS)
    if (Object.hasOwn(body, name)) return pick(body, (one) => !ANSWER_MEMBERS.has(one));
  return body;
}

/**
 * `_id`, and what a foreign writer stored under names that the wire form uses itself: not shown to clients, and kept.
 */
function hidden(old: Document): Document {
  const kept = empty();
  for (const name of SERVER_MEMBERS) if (name !== '_meta' && Object.hasOwn(old, name)) kept[name] = old[name];
  return kept;
}

/** The members of a stored document that clients see and change. */
export function visibleMembers(old: Document): JsonObject {
  return pick(old, (name) => !SERVER_MEMBERS.has(name));
}

/** Copied by a loop, which takes half the time of a spread: a document may have a hundred thousand members. */
function assemble(head: Document, members: JsonObject, meta: Document): Document {
  const document = empty();
  for (const name of Object.keys(head)) document[name] = head[name];
  for (const name of Object.keys(members)) document[name] = members[name];
  document['_meta'] = meta;
  return document;
}

function firstMeta(origin: WriteOrigin): Document {
  const actor = origin.principal.kind === 'anonymous' ? null : origin.principal.id;
  return nextMeta({ createdAt: origin.now, createdBy: actor }, origin);
}

/** The next `_meta`. For a document that others created Millrace knows no creation: those members stay null. */
function nextMeta(old: unknown, origin: WriteOrigin): Document {
  const before: JsonObject = isPlain(old) ? old : {};
  return {
    ...before,
    revision: revisionOf(before) + 1,
    createdAt: before['createdAt'] ?? null,
    updatedAt: origin.now,
    createdBy: before['createdBy'] ?? null,
    updatedBy: origin.principal.kind === 'anonymous' ? null : origin.principal.id,
    by: actorOf(origin.principal),
    request: origin.request,
  };
}

/** The revision that a stored `_meta` says; 0 for a document written by others. */
function revisionOf(meta: unknown): number {
  const wire = isPlain(meta) ? valueToWire(meta['revision']) : 0;
  return typeof wire === 'number' && Number.isSafeInteger(wire) && wire >= 0 ? wire : 0;
}

/** RFC 7396 section 2, `MergePatch`, on stored values. */
export function mergePatch(target: JsonObject, patch: JsonObject, keeper: TypeKeeper): JsonObject {
  const result = pick(target, () => true);
  for (const [name, value] of Object.entries(patch)) {
    const before = Object.hasOwn(target, name) ? target[name] : undefined;
    if (value === null) delete result[name];
    else if (isPlain(value)) result[name] = mergePatch(isPlain(before) ? before : {}, value, keeper);
    else result[name] = keeper.keep(before, value);
  }
  return result;
}

export function pick(source: JsonObject, wanted: (name: string) => boolean): JsonObject {
  const result = empty();
  for (const name of Object.keys(source)) if (wanted(name)) result[name] = source[name];
  return result;
}

/** An object in which every name, `__proto__` too, is an ordinary member. */
export function empty(): JsonObject {
  return Object.create(null);
}
