/**
 * The interface to a store of bytes, and what every store guarantees. A store knows keys and bytes only; names, types,
 * owners and rights belong to the `_files` document (store.ts), and that document alone makes a file exist. Every
 * implementation runs test/suites/file-store.ts.
 */
import type { Readable } from 'node:stream';
import { MillraceError } from '../../kernel/errors.ts';

declare const brand: unique symbol;

/** The key of one file's bytes: 24 lower-case hex digits, never anything a client chose. */
export type FileKey = string & { readonly [brand]: 'FileKey' };

/** What a key looks like. */
export const FILE_KEY = /^[0-9a-f]{24}$/;

/** Brands a key; only ids that Millrace made get here. */
export function fileKey(id: string): FileKey {
  if (FILE_KEY.test(id)) return id as FileKey;
  throw new TypeError(`'${id.slice(0, 40)}' is not a file key`);
}

/** A run of bytes, both ends included, as in HTTP (RFC 9110 section 14.1.2). */
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
   * Stores all of `source` under a key that was never used before. Reads no faster than it stores, and holds a bounded
   * part of the bytes. When it settles without an error, the bytes survive a crash of any one machine.
   * On failure, abort, or a broken source it rejects; what it left behind is removed by `remove`.
   * @throws MillraceError `file-store-unavailable`; the error of the source; the signal's reason
   */
  write(key: FileKey, source: Readable, signal: AbortSignal): Promise<void>;

  /**
   * Opens the bytes of a key, or a range of them that must lie within.
   * Destroying the stream frees everything; bytes that are missing or cut short make it fail, never end early.
   * @param size what the document says the whole has, in bytes
   * @throws MillraceError `file-store-unavailable`
   */
  read(key: FileKey, size: number, range?: ByteRange): Promise<Readable>;

  /** Removes all that is stored under a key, finished or not. It is no error if there is nothing. */
  remove(key: FileKey): Promise<void>;

  /** Resolves when the store can be used: reachable, and the bucket is there. */
  check(): Promise<void>;

  close(): Promise<void>;
}

/** The error of a store when its vendor's code failed; the cause goes to the log only. */
export function storeUnavailable(cause: unknown): MillraceError {
  return new MillraceError('file-store-unavailable', 'The store of the file does not answer as it should', {
    headers: { 'retry-after': '1' },
    cause,
  });
}
