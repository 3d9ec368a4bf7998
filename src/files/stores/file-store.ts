/**
 * The door to where the bytes of files lie, and what every store behind it guarantees. A store knows keys and bytes;
 * names, types, owners and who may read are the `_files` document's (store.ts), and that document alone makes a file
 * exist. Every implementation runs test/suites/file-store.ts.
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
  /** What documents call this store, such as `gridfs` or `s3:pictures`. It must not change while they do. */
  readonly name: string;

  /**
   * Stores all of `source` under a key that was never used before. Reads no faster than it stores, holds a bounded
   * part of the bytes, and when it settles without an error the bytes survive a crash of any one machine.
   * On failure, abort, or a broken source it rejects; what it left behind is taken away by `remove`.
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

  /** Removes whatever is stored under a key, finished or not. Nothing there is fine. */
  remove(key: FileKey): Promise<void>;

  /** Resolves when the store can be used: reachable, and the bucket is there. */
  check(): Promise<void>;

  close(): Promise<void>;
}

/** What a store throws when its vendor failed; the cause is for the log alone. */
export function storeUnavailable(cause: unknown): MillraceError {
  return new MillraceError('file-store-unavailable', 'The store of the file does not answer as it should', {
    headers: { 'retry-after': '1' },
    cause,
  });
}
