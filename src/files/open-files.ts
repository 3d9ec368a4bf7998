/**
 * Wires and starts the parts that serve files: the configured stores, the upload journal, orphan cleanup, and the operations.
 * Stops what it starts.
 */
import { ConfigError } from '../config/config.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Transactions } from '../database/transactions.ts';
import type { DiskSpace } from '../lib/disk-space.ts';
import type { SigningKeys } from '../lib/signing-keys.ts';
import type { Quotas } from '../quotas/quotas.ts';
import { FileDocuments } from './file-document-store.ts';
import { Files } from './files.ts';
import { OrphanCleanup } from './orphan-cleanup.ts';
import type { FileStore } from './stores/file-store.ts';
import { createGridfsStore } from './stores/gridfs-store.ts';
import type { S3Settings } from './stores/s3-store.ts';
import { parseStorageUrls, type StorageUrl } from './stores/storage-url.ts';
import { UploadJournal } from './upload/upload-journal.ts';

export interface FilesSettings {
  /** As in MILLRACE_FILE_STORAGE: the store for new files first, then other stores that hold files. */
  readonly stores: string;
  readonly maxFileBytes: number;
  readonly queryTimeoutMs: number;
  readonly listTimeoutMs: number;
  /** For tests; S3 clients find credentials by themselves. */
  readonly credentials?: S3Settings['credentials'];
}

export interface OpenStores {
  readonly store: FileDocuments;
  readonly marks: UploadJournal;
  readonly orphanCleanup: OrphanCleanup;
  /** The first one is for new files. */
  readonly fileStores: readonly FileStore[];
  close(): Promise<void>;
}

export interface FileStorageTarget {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly quotas?: Quotas | undefined;
  readonly space?: DiskSpace | undefined;
}

/** Signs page cursors and URLs of files. */
export interface FilesKeys {
  readonly cursorKeys: SigningKeys;
  readonly signedUrlKeys: SigningKeys;
}

/** Opens the stores, and what serves files from them; otherwise as `openStores`. */
export async function openFiles(
  location: FileStorageTarget,
  settings: FilesSettings & FilesKeys,
  onError: (error: unknown) => void,
): Promise<OpenStores & { readonly files: Files }> {
  const opened = await openStores(location, settings, onError);
  const { store, marks, fileStores } = opened;
  const [current] = fileStores;
  if (current === undefined) throw noStore();
  const byName = new Map(fileStores.map((fileStore) => [fileStore.name, fileStore]));
  const { transactions, quotas, space } = location;
  return {
    ...opened,
    files: new Files({ ...settings, store, marks, transactions, quotas, space, fileStores: byName, current }),
  };
}

/**
 * Opens the stores and starts orphan cleanup.
 * @param onError receives errors of background work
 * @throws ConfigError when a URL is invalid, or the store for new files is unreachable
 */
export async function openStores(
  { mongo }: Pick<FileStorageTarget, 'mongo'>,
  settings: FilesSettings,
  onError: (error: unknown) => void,
): Promise<OpenStores> {
  const opened = await Promise.all(addresses(settings.stores).map((address) => openStore(address, mongo, settings)));
  const [current] = opened;
  if (current === undefined) throw noStore();
  // GridFS may hold older files under any configuration, and opening it is free.
  const fileStores = opened.some(({ name }) => name === 'gridfs')
    ? opened
    : [...opened, createGridfsStore(mongo.files)];
  const byName = new Map(fileStores.map((fileStore) => [fileStore.name, fileStore]));
  await current.check().catch((error: unknown) => {
    throw new ConfigError([`MILLRACE_FILE_STORAGE: the store ${current.name} cannot be used (${reason(error)})`]);
  });

  const store = new FileDocuments(mongo, settings.queryTimeoutMs);
  const marks = new UploadJournal(mongo);
  await store.start();
  await marks.start();
  const orphanCleanup = new OrphanCleanup({ store, marks, fileStores: byName, onError });
  orphanCleanup.start();

  return {
    store,
    marks,
    orphanCleanup,
    fileStores,
    close: async () => {
      await orphanCleanup.stop();
      await marks.stop();
      for (const fileStore of fileStores) await fileStore.close();
    },
  };
}

function noStore(): ConfigError {
  return new ConfigError(['MILLRACE_FILE_STORAGE: no store is named']);
}

function addresses(stores: string): readonly StorageUrl[] {
  try {
    return parseStorageUrls(stores);
  } catch (error) {
    throw new ConfigError([`MILLRACE_FILE_STORAGE: ${reason(error)}`]);
  }
}

async function openStore(address: StorageUrl, mongo: Mongo, { credentials }: FilesSettings): Promise<FileStore> {
  if (address.kind === 'gridfs') return createGridfsStore(mongo.files);
  // The S3 client takes as long to load as the web server, so it is loaded only if an S3 store is configured.
  const { createS3Store } = await import('./stores/s3-store.ts');
  return createS3Store(credentials === undefined ? address : { ...address, credentials });
}

function reason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message === '' || cause.message === 'UnknownError' ? cause.name : cause.message;
}
