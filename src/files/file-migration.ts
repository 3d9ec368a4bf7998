/**
 * Moves files from other stores to the store for new files, while the server runs: copies the bytes, compares the hash, then
 * updates the store in the document. The old bytes remain for running downloads and are removed by orphan cleanup later. An
 * interrupted move continues when it is started again.
 */
import { pipeline } from 'node:stream';
import { MillraceError } from '../lib/errors.ts';
import { STORE_FIELD } from './file-document-store.ts';
import type { FileStores } from './services.ts';
import type { FileStore } from './stores/file-store.ts';
import { UploadByteMeter } from './upload/byte-meter.ts';
import { decodeStoredFile, type StoredFile } from './upload/file.ts';
import { removeStoredBytes } from './upload/multipart-upload.ts';

/** How long running downloads may read the old bytes. */
const READERS_MS = 10 * 60_000;

export interface MoveProgress {
  readonly moved: number;
  /** Deleted meanwhile, or moved by another process. */
  readonly gone: number;
  readonly failed: number;
  readonly total: number;
  readonly bytes: number;
  readonly file: StoredFile;
  /** Why this file could not be moved. */
  readonly error?: unknown;
}

/** In the database, 0 milliseconds mean no limit. */
const NO_LIMIT = 0;

/** Moves all files, one after the other, and reports each. A file that cannot be moved keeps its store. */
export async function* moveFiles(
  { documents, marks, current: target, byName }: Pick<FileStores, 'documents' | 'marks' | 'current' | 'byName'>,
  signal: AbortSignal,
): AsyncGenerator<MoveProgress> {
  const elsewhere = { [STORE_FIELD]: { $ne: target.name } };
  const total = await documents.count(elsewhere);
  const counts = { moved: 0, gone: 0, failed: 0, bytes: 0 };
  const options = { sort: new Map([['_id', 1]] as const), maxTimeMS: NO_LIMIT };
  for await (const batch of documents.list(elsewhere, options)) {
    for (const file of batch.map(decodeStoredFile)) {
      if (signal.aborted) return;
      const from = byName.get(file.store);
      try {
        if (await moveOne(file, from, target, { documents, marks })) {
          counts.moved++;
          counts.bytes += file.size;
        } else counts.gone++;
        yield { ...counts, total, file };
      } catch (error) {
        counts.failed++;
        yield { ...counts, total, file, error };
      }
    }
  }
}

/** @returns false if the file was deleted or moved meanwhile */
async function moveOne(
  file: StoredFile,
  from: FileStore | undefined,
  target: FileStore,
  { documents, marks }: Pick<FileStores, 'documents' | 'marks'>,
): Promise<boolean> {
  if (from === undefined) {
    throw new MillraceError('file-store-unavailable', `The store ${file.store} is not in MILLRACE_FILE_STORAGE`);
  }
  const { key } = file;
  const back = () => removeStoredBytes([key], { fileStore: target, marks });
  const lost = await marks.recordPending(target.name, key);
  try {
    await copy(file, from, target, lost);
    await marks.scheduleRemoval(from.name, key, READERS_MS);
  } catch (error) {
    await back();
    throw error;
  }
  try {
    const moved = await documents.relocate(key, from.name, target.name);
    if (moved) await marks.deleteEntry(target.name, key);
    else await back();
    return moved;
  } finally {
    // If the outcome is unknown, orphan cleanup reads the document to decide which copy to keep.
    marks.releaseLease(target.name, key);
  }
}

async function copy({ key, size, sha256 }: StoredFile, from: FileStore, target: FileStore, lost: AbortSignal) {
  const meter = new UploadByteMeter(size);
  const bytes = pipeline(await from.read(key, size), meter, () => undefined);
  // An earlier move may have been interrupted here.
  await target.remove(key);
  await target.write(key, bytes, lost);
  if (meter.digest() === sha256) return;
  throw new MillraceError('file-store-unavailable', 'The bytes in the store differ from those that were uploaded');
}
