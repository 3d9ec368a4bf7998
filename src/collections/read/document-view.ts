/**
 * A stored document as a reader sees it: its bytes when nothing is hidden, cut bytes when something is, and null when
 * the Scope does not include it. The entity tag is computed from the visible part: a hash of the whole document would
 * allow guesses about hidden fields.
 */
import { storedRevision } from '../../database/json/transcode-document.ts';
import { selectBsonFields } from '../../policies/fields/select-bson-fields.ts';
import type { Scope } from '../../policies/scope.ts';
import {
  evaluateStoredDocument,
  hidesFields,
  includesAllDocuments,
  isDatabaseFilterExact,
  uniformVisibleFields,
  visibleFieldTree,
} from '../../policies/scope-filter.ts';
import type { EtagDocument } from '../store/etag-document.ts';
import { documentTag, HIDDEN_DOCUMENT_TAG } from '../store/preconditions.ts';

/**
 * @param reader null when nothing may be read
 * @param reached true if the database query has already checked that the reader's Scope includes the document
 * @returns null when the reader's Scope does not include it
 */
export async function visibleDocument(
  reader: Scope<'read'> | null,
  raw: Uint8Array,
  reached = false,
): Promise<EtagDocument | null> {
  const seen = reader === null ? null : await visibleDocumentBson(reader, raw, reached);
  return seen === null ? null : { raw: seen, etag: documentTag(seen, storedRevision(raw)) };
}

/** The same without a tag. */
export async function visibleDocumentBson(
  reader: Scope<'read'>,
  raw: Uint8Array,
  reached: boolean,
): Promise<Uint8Array | null> {
  const isReached = reached && isDatabaseFilterExact(reader);
  if (!hidesFields(reader) && (isReached || includesAllDocuments(reader))) return raw;
  const fields =
    (isReached ? uniformVisibleFields(reader) : null) ?? (await evaluateStoredDocument(reader, raw, visibleFieldTree));
  return fields === null ? null : selectBsonFields(raw, fields);
}

/** A written document as its writer sees it. Without a view it has only the id of a created document. */
export async function toWrittenDocument(
  reader: Scope<'read'> | null,
  { createdId, ...document }: EtagDocument,
): Promise<WrittenDocument> {
  const whole = reader !== null && includesAllDocuments(reader) && !hidesFields(reader);
  const seen = whole ? document : await visibleDocument(reader, document.raw);
  return createdId === undefined ? { seen } : { seen, createdId };
}

export interface WrittenDocument {
  /** Null when it is not visible. */
  readonly seen: EtagDocument | null;
  readonly createdId?: string;
}

/**
 * The entity tag of a document for one reader. For a document outside the Scope it is a tag that no client can know.
 */
export async function visibleDocumentTag(reader: Scope<'read'> | null, raw: Uint8Array): Promise<string> {
  return (await visibleDocument(reader, raw))?.etag ?? HIDDEN_DOCUMENT_TAG;
}
