/** A document as it is stored, with the tag that names its state. Not here: how a new state is computed (next-document.ts). */
import type { Document } from 'mongodb';
import { encodeStored, type OrderedDocument } from '../../database/bson/stored.ts';
import { storedRevision } from '../../database/json/transcode-document.ts';
import { documentTag } from './preconditions.ts';

export interface StoredDocument {
  readonly raw: Uint8Array;
  /** Strong entity tag, with its quotes. */
  readonly etag: string;
  /** The id as clients see it, when the operation brought the document into being. */
  readonly createdId?: string;
}

export function toStored(raw: Uint8Array): StoredDocument {
  return { raw, etag: documentTag(raw, storedRevision(raw)) };
}

/** A written document as the database now stores it: the driver writes the same bytes as we do here. */
export function written(document: Document | OrderedDocument): StoredDocument {
  return toStored(encodeStored(document));
}
