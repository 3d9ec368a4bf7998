/**
 * Creates and connects the parts that serve files: the stores that the configuration names, the marks, the sweep, the
 * operations. What is started here is stopped here. Not here: what each part does.
 */
import type { Mongo } from '../database/mongo.ts';
import type { Transactions } from '../database/transactions.ts';
import { ConfigError } from '../kernel/config/config.ts';
import type { DiskSpace } from '../kernel/disk-space.ts';
import type { SigningKeys } from '../kernel/signing-keys.ts';
import type { Quotas } from '../quotas/quotas.ts';
import { Files } from './files.ts';
import { FileDocuments } from './store.ts';
import type { FileStore } from './stores/file-store.ts';
import { openGridfsStore } from './stores/gridfs-store.ts';
import type { S3Settings } from './stores/s3-store.ts';
import { parseStoreAddresses, type StoreAddress } from './stores/store-address.ts';
import { Sweep } from './sweep.ts';
import { UploadMarks } from './upload/upload-marks.ts';

export interface FilesSettings {
  /** As in MILLRACE_FILES: where new files go, then where others still are. */
  readonly stores: string;
  readonly maxFileBytes: number;
  readonly queryTimeoutMs: number;
  readonly listTimeoutMs: number;
  /** For tests; S3 clients find credentials by themselves. */
  readonly credentials?: S3Settings['credentials'];
}

export interface OpenStores {
  readonly store: FileDocuments;
  readonly marks: UploadMarks;
  readonly sweep: Sweep;
  /** The first one is where new files go. */
  readonly fileStores: readonly FileStore[];
  close(): Promise<void>;
}

export interface FilesPlace {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly quotas?: Quotas | undefined;
  readonly space?: DiskSpace | undefined;
}

/** What signs page cursors and addresses of files. */
export interface FilesKeys {
  readonly cursorKeys: SigningKeys;
  readonly addressKeys: SigningKeys;
}

/** Opens the stores, and what serves files from them; else as `openStores`. */
export async function openFiles(
  place: FilesPlace,
  settings: FilesSettings & FilesKeys,
  onError: (error: unknown) => void,
): Promise<OpenStores & { readonly files: Files }> {
  const opened = await openStores(place, settings, onError);
  const { store, marks, fileStores } = opened;
  const [current] = fileStores;
  if (current === undefined) throw noStore();
  const byName = new Map(fileStores.map((fileStore) => [fileStore.name, fileStore]));
  const { transactions, quotas, space } = place;
  return {
    ...opened,
    files: new Files({ ...settings, store, marks, transactions, quotas, space, fileStores: byName, current }),
  };
}

/**
 * Opens the stores and starts the sweep.
 * @param onError told what went wrong in the background
 * @throws ConfigError when an address is wrong, or nothing answers where new files shall go
 */
export async function openStores(
  { mongo }: Pick<FilesPlace, 'mongo'>,
  settings: FilesSettings,
  onError: (error: unknown) => void,
): Promise<OpenStores> {
  const opened = await Promise.all(addresses(settings.stores).map((address) => openStore(address, mongo, settings)));
  const [current] = opened;
  if (current === undefined) throw noStore();
  // GridFS may hold older files whatever is configured now, and being able to read them costs nothing.
  const fileStores = opened.some(({ name }) => name === 'gridfs') ? opened : [...opened, openGridfsStore(mongo.files)];
  const byName = new Map(fileStores.map((fileStore) => [fileStore.name, fileStore]));
  await current.check().catch((error: unknown) => {
    throw new ConfigError([`MILLRACE_FILES: the store ${current.name} cannot be used (${reason(error)})`]);
  });

  const store = new FileDocuments(mongo, settings.queryTimeoutMs);
  const marks = new UploadMarks(mongo);
  await store.start();
  await marks.start();
  const sweep = new Sweep({ store, marks, fileStores: byName, onError });
  sweep.start();

  return {
    store,
    marks,
    sweep,
    fileStores,
    close: async () => {
      await sweep.stop();
      await marks.stop();
      for (const fileStore of fileStores) await fileStore.close();
    },
  };
}

function noStore(): ConfigError {
  return new ConfigError(['MILLRACE_FILES: no store is named']);
}

function addresses(stores: string): readonly StoreAddress[] {
  try {
    return parseStoreAddresses(stores);
  } catch (error) {
    throw new ConfigError([`MILLRACE_FILES: ${reason(error)}`]);
  }
}

async function openStore(address: StoreAddress, mongo: Mongo, { credentials }: FilesSettings): Promise<FileStore> {
  if (address.kind === 'gridfs') return openGridfsStore(mongo.files);
  // The S3 client takes as long to load as the web server, so it is loaded only when an S3 store is configured.
  const { openS3Store } = await import('./stores/s3-store.ts');
  return openS3Store(credentials === undefined ? address : { ...address, credentials });
}

function reason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message === '' || cause.message === 'UnknownError' ? cause.name : cause.message;
}
