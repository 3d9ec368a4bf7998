/**
 * Creates and starts the services of files: the configured stores, the upload journal, orphan cleanup, and the
 * operations.
 */
import { ConfigError } from '../config/config.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Transactions } from '../database/transactions.ts';
import type { DiskSpaceMonitor } from '../lib/disk-space.ts';
import type { SigningKeys } from '../lib/hmac-signing-keys.ts';
import type { Quotas } from '../quotas/quotas.ts';
import { FileDocuments } from './file-document-store.ts';
import { Files } from './files.ts';
import { OrphanCleanup } from './orphan-cleanup.ts';
import type { FileStore } from './stores/file-store.ts';
import { createGridfsStore } from './stores/gridfs-store.ts';
import type { S3Settings } from './stores/s3-store.ts';
import { parseStorageUrls, type StorageUrl } from './stores/storage-url.ts';
import { UploadJournal } from './upload/upload-journal.ts';

export interface FileStoresDeps {
  readonly mongo: Mongo;
  /** As in MILLRACE_FILE_STORAGE: the store for new files first, then other stores that hold files. */
  readonly stores: string;
  readonly queryTimeoutMs: number;
  /** For tests; S3 clients find credentials by themselves. */
  readonly credentials?: S3Settings['credentials'];
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
  /** Receives what stops the services. */
  readonly cleanup: AsyncDisposableStack;
}

export interface FileStores {
  readonly documents: FileDocuments;
  readonly marks: UploadJournal;
  readonly orphanCleanup: OrphanCleanup;
  /** The store for new files. */
  readonly current: FileStore;
  readonly byName: ReadonlyMap<string, FileStore>;
}

export interface FileServicesDeps extends FileStoresDeps {
  readonly transactions: Transactions;
  readonly quotas?: Quotas | undefined;
  readonly space?: DiskSpaceMonitor | undefined;
  readonly maxFileBytes: number;
  readonly listTimeoutMs: number;
  /** Signs page cursors. */
  readonly cursorKeys: SigningKeys;
  /** Signs URLs of files. */
  readonly signedUrlKeys: SigningKeys;
}

/** Opens the stores as `openFileStores`, and serves files from them. */
export async function createFileServices(deps: FileServicesDeps): Promise<FileStores & { readonly files: Files }> {
  const opened = await openFileStores(deps);
  const { documents, marks, orphanCleanup, current, byName } = opened;
  const files = new Files({
    store: documents,
    marks,
    fileStores: byName,
    current,
    transactions: deps.transactions,
    quotas: deps.quotas,
    space: deps.space,
    maxFileBytes: deps.maxFileBytes,
    queryTimeoutMs: deps.queryTimeoutMs,
    listTimeoutMs: deps.listTimeoutMs,
    cursorKeys: deps.cursorKeys,
    signedUrlKeys: deps.signedUrlKeys,
  });
  return { documents, marks, orphanCleanup, current, byName, files };
}

/**
 * Opens the stores and starts orphan cleanup.
 * @throws ConfigError when a URL is invalid, or the store for new files is unreachable
 */
export async function openFileStores(deps: FileStoresDeps): Promise<FileStores> {
  const { mongo, queryTimeoutMs, credentials, onError, cleanup } = deps;
  const open = async (url: StorageUrl) =>
    cleanup.adopt(await openStore(url, mongo, credentials), (fileStore) => fileStore.close());
  const opened = await Promise.all(parseStores(deps.stores).map(open));
  const [current] = opened;
  if (current === undefined) throw new ConfigError(['MILLRACE_FILE_STORAGE: no store is named']);
  const byName = new Map(opened.map((fileStore) => [fileStore.name, fileStore]));
  // GridFS may hold older files under any configuration, and opening it is free.
  if (!byName.has('gridfs')) byName.set('gridfs', await open({ kind: 'gridfs' }));
  await current.check().catch((error: unknown) => {
    throw new ConfigError([`MILLRACE_FILE_STORAGE: the store ${current.name} cannot be used (${reason(error)})`]);
  });

  const documents = new FileDocuments(mongo, queryTimeoutMs);
  const marks = cleanup.adopt(new UploadJournal(mongo), (it) => it.stop());
  await documents.start();
  await marks.start();
  const orphanCleanup = cleanup.adopt(
    new OrphanCleanup({ store: documents, marks, fileStores: byName, onError }),
    (it) => it.stop(),
  );
  orphanCleanup.start();
  return { documents, marks, orphanCleanup, current, byName };
}

function parseStores(stores: string): readonly StorageUrl[] {
  try {
    return parseStorageUrls(stores);
  } catch (error) {
    throw new ConfigError([`MILLRACE_FILE_STORAGE: ${reason(error)}`]);
  }
}

async function openStore(
  address: StorageUrl,
  mongo: Mongo,
  credentials: S3Settings['credentials'],
): Promise<FileStore> {
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
