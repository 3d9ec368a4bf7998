/**
 * The database commands that change one document only if it is still what was read, and that stamp it before its
 * deletion. Pure.
 */
import type { AnyBulkWriteOperation, ClientSession, Document, Filter } from 'mongodb';
import type { OrderedDocument } from '../../database/bson/stored-document.ts';
import type { RequestStamp } from '../../database/system-collection.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { type DocumentChange, getField, needsFullReplacement } from './needs-full-replacement.ts';

/** Ids are of any type here; the driver's own type knows ObjectId only. */
export function idFilter(id: unknown): Document {
  return { _id: id };
}

/** Matches the document only while it is what was read. */
export function unchangedFilter(old: Document | OrderedDocument): Filter<Document> {
  return { $expr: { $eq: ['$$ROOT', { $literal: old }] } };
}

/**
 * The new state, or a database error if the document is not what was read. A bulk update reports how many documents
 * matched, not which, so a mismatch raises an error, because errors include the index of the operation. With `upsert` a
 * deleted document raises the same error: the server computes what to insert from the id alone, which is not what was
 * read either. Nothing is ever inserted.
 */
export function compareAndReplaceExpression(
  old: Document | OrderedDocument,
  next: Document | OrderedDocument,
): Document {
  const fails = { $toInt: { $concat: ['changed: ', { $type: '$_id' }] } };
  return { $cond: [{ $eq: ['$$ROOT', { $literal: old }] }, { $literal: next }, fails] };
}

/** The new state without a comparison, for documents that cannot have changed since they were read. */
export function unconditionalReplaceOperation(change: DocumentChange): AnyBulkWriteOperation {
  const { id, next } = change;
  const filter = idFilter(id);
  if (needsFullReplacement(change)) return { replaceOne: { filter, replacement: next } };
  return { updateOne: { filter, update: [{ $replaceWith: { $literal: next } }] } };
}

/**
 * Locks an unchanged document for a transaction: it conflicts with every other writer of the document until it ends.
 * The database ignores a write without effect, so `_meta` changes and changes back, which is not an event.
 */
export function toLockOperations({ id, old }: DocumentChange): AnyBulkWriteOperation[] {
  const meta = getField(old, '_meta');
  const inside = meta instanceof Map || isPlainObject(meta);
  const [set, back] = inside
    ? [{ $set: { [CLAIM]: true } }, { $unset: { [CLAIM]: '' } }]
    : [{ $set: { _meta: {} } }, meta === undefined ? { $unset: { _meta: '' } } : { $set: { _meta: meta } }];
  return [set, back].map((update) => ({ updateOne: { filter: idFilter(id), update } }));
}

const CLAIM = '_meta.claim';

/** True if a document has fields besides its id. */
export function hasContentBesidesId(document: Document | OrderedDocument): boolean {
  return (document instanceof Map ? document.size : Object.keys(document).length) > 1;
}

/** An update of `_meta` alone, which is not an event: the deletion that follows takes the actor from it. */
export function toDeletionActorUpdate({ by, request }: RequestStamp): Document[] {
  const meta = { $cond: [{ $eq: [{ $type: '$_meta' }, 'object'] }, '$_meta', {}] };
  return [{ $set: { _meta: { $mergeObjects: [meta, { $literal: { by, request } }] } } }];
}

/** The session of a transaction as an option of the driver; nothing outside of one. */
export function sessionOption(session: ClientSession | undefined): { session?: ClientSession } {
  return session === undefined ? {} : { session };
}

/** Both filters; the second one may test the id, too. */
export function combineFilters(own: Filter<Document>, filter: Filter<Document>): Filter<Document> {
  return Object.keys(filter).length === 0 ? own : { $and: [own, filter] };
}
