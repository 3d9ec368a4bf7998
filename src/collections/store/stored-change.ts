/**
 * A change of one document as the store executes it. A change that leaves every field unchanged writes the document as
 * it was read: its revision and its entity tag stay, and there is no event. Pure.
 */
import type { Document } from 'mongodb';
import { asBuffer, haveSameFields } from '../../database/bson/raw-bson.ts';
import {
  decodeDocumentId,
  decodeExactDocumentMap,
  encodeBsonDocument,
  reorderFields,
  withStoredFieldOrder,
} from '../../database/bson/stored-document.ts';
import { MillraceError } from '../../lib/errors.ts';
import { SERVER_FIELDS } from '../../lib/server-fields.ts';
import type { RequestedChange } from '../write/requested-change.ts';
import { type EtagDocument, encodeStoredDocument, withEtag } from './etag-document.ts';
import type { DocumentChange } from './needs-full-replacement.ts';

/** Size of both states of a document, old and new, that fit into one command of the database. */
export const MAX_COMPARED_BYTES = 15 * 1024 * 1024;

export interface StoredChange extends DocumentChange {
  /** The document after the change. */
  readonly result: EtagDocument;
  /** Whether it equals the document before the change. */
  readonly unchanged: boolean;
  /** Size of both states as BSON. */
  readonly bytes: number;
}

/**
 * @param raw the document as stored
 * @param read the result of `decodeExactDocument`
 * @param computed the next state; its fields get their stored positions, unless the change replaces the document
 * @throws MillraceError `document-too-large`, `unsupported-value`
 */
export function toStoredChange(
  raw: Uint8Array,
  read: Document,
  computed: Document,
  kind: RequestedChange['kind'],
): StoredChange {
  const [id, old] = [decodeDocumentId(raw), withStoredFieldOrder(raw, read)];
  const next = kind === 'replace' ? computed : reorderFields(computed, decodeExactDocumentMap(raw));
  const result = encodeStoredDocument(next);
  // A replacement has JavaScript's order of names, which may differ from the stored one.
  const states = kind === 'replace' && old !== read ? [raw, encodeBsonDocument(read)] : [raw];
  const bytes = raw.length + result.raw.length;
  if (states.some((state) => sameVisible(state, result.raw))) {
    return { id, old, next: old, result: withEtag(raw), unchanged: true, bytes };
  }
  return { id, old, next, result, unchanged: false, bytes };
}

/** Compared as bytes: a value of another BSON type, or another order of fields, is a change. */
function sameVisible(one: Uint8Array, other: Uint8Array): boolean {
  return haveSameFields(asBuffer(one), asBuffer(other), SERVER_FIELDS);
}

/**
 * False for a document that the database cannot compare with what was read, because not all of it can be written back.
 */
export function isComparableDocument(raw: Uint8Array): boolean {
  try {
    decodeExactDocumentMap(raw);
    return true;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'unsupported-value') return false;
    throw error;
  }
}
