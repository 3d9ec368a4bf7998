/**
 * A file as `_files` stores it and as clients see it, and the conversion between both. Pure. Its bytes are in the store named in
 * the document, under the document's id.
 */
import type { Document } from 'mongodb';
import { type Principal, toActorId } from '../../auth/identity/principal.ts';
import { decodeExactDocument } from '../../database/bson/stored-document.ts';
import { idFromText } from '../../database/json/ids.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { FILE_KEY, type FileKey, fileKey } from '../stores/file-store.ts';
import { encodeNameForPath } from './file-name.ts';

/** Properties of a file that are known after its last byte. */
export interface UploadedFileInfo {
  readonly key: FileKey;
  readonly name: string;
  readonly type: string;
  /** The encoding of text that is not UTF-8; null otherwise. */
  readonly charset: string | null;
  /** Bytes. */
  readonly size: number;
  /** Of the bytes, in hex. */
  readonly sha256: string;
}

/** A file that exists. */
export interface StoredFile extends UploadedFileInfo {
  /** Name of the store that has the bytes. */
  readonly store: string;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  /** The client's metadata, as JSON; null for none. */
  readonly metadata: unknown;
}

/** A file as clients see it. */
export interface FileResource {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
  readonly createdAt: string;
  readonly createdBy: string | null;
  readonly metadata: unknown;
}

/** Stored fields of a FileResource, by their stored names. */
export const STORED_FILE_FIELDS: ReadonlySet<string> = new Set([
  '_id',
  'name',
  'type',
  'size',
  'sha256',
  'createdAt',
  'createdBy',
  'metadata',
]);

/**
 * The document of a file. The name of the store and the encoding of text are internal: they are in `_meta`, so they are in no
 * response and no event, and a move to another store is no event either.
 */
export function toFileDocument(file: StoredFile, principal: Principal, request: string): Document {
  const { key, name, type, charset, size, sha256, createdAt, createdBy, metadata, store } = file;
  const by = { createdBy, updatedBy: createdBy, by: toActorId(principal), request };
  const _meta = { revision: 1, createdAt, updatedAt: createdAt, ...by, store, ...(charset !== null && { charset }) };
  return { _id: idFromText(key), name, type, size, sha256, createdAt, createdBy, metadata, _meta };
}

/**
 * Reads a document of `_files`, as returned by `decodeExactDocument`.
 * @throws MillraceError `internal` when another program stored an invalid document
 */
function fromDocument(document: Document): StoredFile {
  const text = (field: string, holder: Document = document): string => {
    const value: unknown = holder[field];
    if (typeof value === 'string') return value;
    throw damaged(field);
  };
  const meta: unknown = document['_meta'];
  if (!isPlainObject(meta)) throw damaged('_meta');
  const size = valueToWire(document['size']);
  const createdAt: unknown = document['createdAt'];
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) throw damaged('size');
  if (!(createdAt instanceof Date)) throw damaged('createdAt');
  return {
    key: fileKey(String(valueToWire(document['_id']))),
    name: text('name'),
    type: text('type'),
    charset: typeof meta['charset'] === 'string' ? meta['charset'] : null,
    size,
    sha256: text('sha256'),
    store: text('store', meta),
    createdAt,
    createdBy: document['createdBy'] === null ? null : text('createdBy'),
    metadata: valueToWire(document['metadata']),
  };
}

/** The same for raw BSON. */
export function decodeStoredFile(raw: Uint8Array): StoredFile {
  return fromDocument(decodeExactDocument(raw));
}

/** @param base scheme and authority of this server for the client, such as `https://example.com` */
export function toFileResource(file: StoredFile, base: string): FileResource {
  const { key, name, type, size, sha256, createdAt, createdBy, metadata } = file;
  const url = `${base}/files/${key}/${encodeNameForPath(name)}`;
  return { id: key, url, name, type, size, sha256, createdAt: createdAt.toISOString(), createdBy, metadata };
}

/** Entity tag of the bytes (RFC 9110 section 8.8.3), strong because it is derived from the hash. */
export function fileEntityTag(file: UploadedFileInfo): string {
  return `"${file.sha256}"`;
}

function damaged(field: string): MillraceError {
  return new MillraceError('internal', 'A file has a damaged document', {
    cause: new TypeError(`_files: the field ${field} is not in the form that Millrace writes`),
  });
}

/** The key for a client's text, or undefined if no file can have that id. */
export function parseFileId(text: string): FileKey | undefined {
  return FILE_KEY.test(text) ? fileKey(text) : undefined;
}
