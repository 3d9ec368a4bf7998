/**
 * The interface of byte stores, and the guarantees of each. A store knows keys and bytes only; names, types, creators and rights
 * belong to the `_files` document (store.ts), and that document alone makes a file exist. Every implementation runs
 * test/suites/file-store.ts.
 */
import type { Readable } from 'node:stream';
import { MillraceError } from '../../lib/errors.ts';

declare const brand: unique symbol;

/** The key of one file's bytes: 24 lower-case hex digits, never chosen by a client. */
export type FileKey = string & { readonly [brand]: 'FileKey' };

/** The form of a key. */
export const FILE_KEY = /^[0-9a-f]{24}$/;

/** Brands a key; the id must come from Millrace. */
export function fileKey(id: string): FileKey {
  if (FILE_KEY.test(id)) return id as FileKey;
  throw new TypeError(`'${id.slice(0, 40)}' is not a file key`);
}

/** A byte range, both ends included, as in HTTP (RFC 9110 section 14.1.2). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface FileStore {
  /**
   * The name of this store in documents, such as `gridfs` or `s3:pictures`. It must not change while documents use it.
   */
  readonly name: string;

  /**
   * Stores all of `source` under an unused key. Applies backpressure, and buffers a bounded part of the bytes. When it resolves,
   * the bytes survive a crash of any one machine. On failure, abort, or a broken source it rejects; `remove` removes leftovers.
   * @throws MillraceError `file-store-unavailable`; the error of the source; the signal's reason
   */
  write(key: FileKey, source: Readable, signal: AbortSignal): Promise<void>;

  /**
   * Opens the bytes of a key, or a range within them. Destroying the stream frees everything; missing or truncated bytes make it
   * fail, never end early.
   * @param size total size according to the document, in bytes
   * @throws MillraceError `file-store-unavailable`
   */
  read(key: FileKey, size: number, range?: ByteRange): Promise<Readable>;

  /** Removes everything stored under a key, finished or not. A missing key is not an error. */
  remove(key: FileKey): Promise<void>;

  /** Resolves if the store is usable: reachable, and the bucket exists. */
  check(): Promise<void>;

  close(): Promise<void>;
}

/** The error for a failed call of a vendor's client; the cause is only logged. */
export function storeUnavailable(cause: unknown): MillraceError {
  return new MillraceError('file-store-unavailable', 'The store of the file does not respond as expected', {
    headers: { 'retry-after': '1' },
    cause,
  });
}
