/** A stored document with its entity tag. */
import type { Document } from 'mongodb';
import { encodeBsonDocument, type OrderedDocument } from '../../database/bson/stored-document.ts';
import { storedRevision } from '../../database/json/transcode-document.ts';
import { documentTag } from './preconditions.ts';

export interface EtagDocument {
  readonly raw: Uint8Array;
  /** Strong entity tag, with its quotes. */
  readonly etag: string;
  /** The id as clients see it, when the operation created the document. */
  readonly createdId?: string;
}

export function withEtag(raw: Uint8Array): EtagDocument {
  return { raw, etag: documentTag(raw, storedRevision(raw)) };
}

/** A written document as the database now stores it: the driver writes the same bytes as this encoding. */
export function encodeStoredDocument(document: Document | OrderedDocument): EtagDocument {
  return withEtag(encodeBsonDocument(document));
}
