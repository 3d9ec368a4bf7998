/**
 * The stored form of a document and the pure functions that compute the next one: creation, replacement, merge patch,
 * other changes. They work on exact BSON values (`decodeExactDocument`), so a date or decimal that another program
 * stored keeps its type when its JSON did not change.
 */
import type { Document, ObjectId } from 'mongodb';
import { type Principal, toActorId } from '../../auth/identity/principal.ts';
import { idText, parseNewId } from '../../database/json/ids.ts';
import { rejectStoredIdField } from '../../database/json/parse-json.ts';
import { metaToWire } from '../../database/json/to-wire.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { SERVER_FIELDS, SERVER_RESPONSE_FIELDS } from '../../lib/server-fields.ts';
import { BsonTypePreserver } from './bson-type-preservation.ts';

/** Actor, request and time of a write: what `_meta` records. */
export interface WriteAttribution {
  readonly principal: Principal;
  /** The request id, `req_…`. */
  readonly request: string;
  readonly now: Date;
}

/** A JSON object as the strict parser returns it. */
export type JsonObject = { [field: string]: unknown };

/**
 * The document that a create stores: `_id`, the fields, `_meta` with revision 1.
 * @param newId generates the id when the body has none
 * @throws MillraceError `invalid-id`, `unsupported-field-name`
 */
export function buildNewDocument(body: JsonObject, origin: WriteAttribution, newId: () => ObjectId): Document {
  const id = Object.hasOwn(body, 'id') ? parseNewId(body['id']) : newId();
  return assemble({ _id: id }, storableFields(body), firstMeta(origin));
}

/** The document that a full replacement stores: the fields of the body, and those that the API hides. */
export function buildReplacedDocument(old: Document, body: JsonObject, origin: WriteAttribution): Document {
  return assemble(
    hidden(old),
    new BsonTypePreserver().preserveFields(old, storableFields(body)),
    nextMeta(old['_meta'], origin),
  );
}

/** The document after a merge patch (RFC 7396): null removes a field, objects merge, everything else replaces. */
export function buildMergedDocument(old: Document, patch: JsonObject, origin: WriteAttribution): Document {
  return assemble(
    hidden(old),
    mergePatch(withoutServerFields(old), storableFields(patch), new BsonTypePreserver()),
    nextMeta(old['_meta'], origin),
  );
}

/**
 * The document after a change of its visible fields, those between `id` and `_meta`, which the change may read.
 * @param change computes the new fields from the old ones
 */
export function buildChangedDocument(
  old: Document,
  change: (shown: JsonObject) => unknown,
  origin: WriteAttribution,
): Document {
  return replaceFieldsAndMeta(old, computeFieldsAfterChange(old, withoutServerFields(old), change), origin);
}

/** The fields after a change that may read these fields of a document, and the fields that every client sees. */
export function computeFieldsAfterChange(
  old: Document,
  seen: JsonObject,
  change: (shown: JsonObject) => unknown,
): JsonObject {
  const next = change({ id: idText(old['_id']), ...seen, _meta: metaToWire(old['_meta']) });
  if (!isPlainObject(next))
    throw new MillraceError('invalid-patch', 'After the patch the document would not be a JSON object');
  return storableFields(next);
}

/** The document with other fields between those that the API hides and `_meta`. */
export function replaceFieldsAndMeta(old: Document, fields: JsonObject, origin: WriteAttribution): Document {
  return assemble(hidden(old), fields, nextMeta(old['_meta'], origin));
}

/** The document with other fields between those that the API hides and `_meta`, which stays. */
export function replaceFieldsKeepMeta(document: Document, fields: JsonObject): Document {
  return assemble(hidden(document), fields, document['_meta']);
}

/** The fields of `body` that a document stores. */
export function storableFields(body: JsonObject): JsonObject {
  rejectStoredIdField(body);
  for (const name of SERVER_RESPONSE_FIELDS)
    if (Object.hasOwn(body, name)) return pickFields(body, (one) => !SERVER_RESPONSE_FIELDS.has(one));
  return body;
}

/** `_id`, and what another program stored under names that the API uses itself: hidden from clients, and kept. */
function hidden(old: Document): Document {
  const kept = createEmptyObject();
  for (const name of SERVER_FIELDS) if (name !== '_meta' && Object.hasOwn(old, name)) kept[name] = old[name];
  return kept;
}

/** The fields of a stored document that clients see and change. */
export function withoutServerFields(old: Document): JsonObject {
  return pickFields(old, (name) => !SERVER_FIELDS.has(name));
}

/** A loop takes half the time of a spread: a document may have a hundred thousand fields. */
function assemble(head: Document, fields: JsonObject, meta: Document): Document {
  const document = createEmptyObject();
  for (const name of Object.keys(head)) document[name] = head[name];
  for (const name of Object.keys(fields)) document[name] = fields[name];
  document['_meta'] = meta;
  return document;
}

function firstMeta(origin: WriteAttribution): Document {
  const actor = origin.principal.kind === 'anonymous' ? null : origin.principal.id;
  return nextMeta({ createdAt: origin.now, createdBy: actor }, origin);
}

/** The next `_meta`. The creation of a document by another program is unknown: those fields stay null. */
function nextMeta(old: unknown, origin: WriteAttribution): Document {
  const before: JsonObject = isPlainObject(old) ? old : {};
  return {
    ...before,
    revision: revisionOf(before) + 1,
    createdAt: before['createdAt'] ?? null,
    updatedAt: origin.now,
    createdBy: before['createdBy'] ?? null,
    updatedBy: origin.principal.kind === 'anonymous' ? null : origin.principal.id,
    by: toActorId(origin.principal),
    request: origin.request,
  };
}

/** The revision in a stored `_meta`; 0 for a document that another program wrote. */
function revisionOf(meta: unknown): number {
  const wire = isPlainObject(meta) ? valueToWire(meta['revision']) : 0;
  return typeof wire === 'number' && Number.isSafeInteger(wire) && wire >= 0 ? wire : 0;
}

/** RFC 7396 section 2, `MergePatch`, on stored values. */
export function mergePatch(target: JsonObject, patch: JsonObject, keeper: BsonTypePreserver): JsonObject {
  const result = pickFields(target, () => true);
  for (const [name, value] of Object.entries(patch)) {
    const before = Object.hasOwn(target, name) ? target[name] : undefined;
    if (value === null) delete result[name];
    else if (isPlainObject(value)) result[name] = mergePatch(isPlainObject(before) ? before : {}, value, keeper);
    else result[name] = keeper.preserve(before, value);
  }
  return result;
}

export function pickFields(source: JsonObject, requested: (name: string) => boolean): JsonObject {
  const result = createEmptyObject();
  for (const name of Object.keys(source)) if (requested(name)) result[name] = source[name];
  return result;
}

/** An object in which every name, `__proto__` too, is an ordinary field. */
export function createEmptyObject(): JsonObject {
  return Object.create(null);
}
