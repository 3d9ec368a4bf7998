/**
 * Operations on files. Each takes a Scope. A file exists from the commit of its document until that document is deleted. Its
 * bytes are written before and removed after, protected by an entry of the upload journal.
 */
import type { Readable } from 'node:stream';
import { type Principal, quotaIdOf, toActorId } from '../auth/identity/principal.ts';
import { idFromText } from '../database/json/ids.ts';
import type { Transactions } from '../database/transactions.ts';
import { prependFirst } from '../lib/concurrency/closable-iterator.ts';
import { mapCooperatively } from '../lib/concurrency/cooperative-yield.ts';
import type { DiskSpaceMonitor } from '../lib/disk-space.ts';
import { MillraceError } from '../lib/errors.ts';
import type { SigningKeys } from '../lib/hmac-signing-keys.ts';
import { SYSTEM_FIELDS_ONLY } from '../policies/fields/field-rules.ts';
import { filterByScope } from '../policies/recheck-in-memory.ts';
import type { RightsRevalidation } from '../policies/revalidation/revalidation.ts';
import { readScopeOf, type Scope, signedUrlReadScope } from '../policies/scope.ts';
import { grantsForDocumentAsync, toDatabaseFilter, visibleFieldTreeAsync } from '../policies/scope-filter.ts';
import type { Query } from '../query/parse/query.ts';
import type { QuotaReservation, Quotas } from '../quotas/quotas.ts';
import { type ConditionHeaders, requireConditions } from './conditions.ts';
import { type FileList, type FileListingDeps, listFiles } from './listing.ts';
import type { ByteRange, FileStore } from './stores/file-store.ts';
import {
  decodeStoredFile,
  fileEntityTag,
  parseFileId,
  type StoredFile,
  toFileDocument,
  type UploadedFileInfo,
} from './upload/file.ts';
import {
  type ExpectedFiles,
  type MultipartPart,
  removeStoredBytes,
  storeUpload,
  type UploadBatch,
} from './upload/multipart-upload.ts';
import type { UploadJournal } from './upload/upload-journal.ts';
import { toVisibleFile, type VisibleFile } from './visible-file.ts';

export interface FilesDeps extends FileListingDeps {
  readonly marks: UploadJournal;
  readonly transactions: Transactions;
  /** Every store that may hold files, by name. */
  readonly fileStores: ReadonlyMap<string, FileStore>;
  /** The store for new files. */
  readonly current: FileStore;
  readonly maxFileBytes: number;
  /** The free space of the embedded database, if it stores the bytes. */
  readonly space?: DiskSpaceMonitor | undefined;
  /** The upload quotas of principals, if there are any. */
  readonly quotas?: Quotas | undefined;
  /** Keys for signed URLs. */
  readonly signedUrlKeys: SigningKeys;
  readonly now?: () => Date;
}

/** The request of an upload. */
export interface UploadContext {
  readonly request: string;
  readonly rights: Pick<RightsRevalidation, 'check'>;
}

export class Files {
  readonly #deps: FilesDeps;

  constructor(deps: FilesDeps) {
    this.#deps = deps;
  }

  /**
   * Stores the files of one request: all of them, or nothing.
   * @param parts the parts of the body as they arrive, stored while they are read
   * @param request its id, for events, and the rights it began with, which must still hold when it commits
   * @throws MillraceError as `storeUpload`; `forbidden` when no grant reaches such a file; `quota-exceeded`;
   *   `storage-full`; `upload-timeout`; as the rights' `check`
   */
  async upload(
    scope: Scope<'create'>,
    parts: AsyncIterable<MultipartPart>,
    expected: ExpectedFiles,
    { request, rights }: UploadContext,
  ): Promise<readonly VisibleFile[]> {
    const intake = { ...this.#deps, fileStore: this.#deps.current };
    this.#deps.space?.requireRoom();
    const creator = quotaIdOf(scope.principal);
    await this.#deps.quotas?.requireRoomForFile(creator);
    const delivery = await storeUpload(parts, expected, intake);
    const keys = delivery.drafts.map(({ key }) => key);
    const { files, documents } = this.#toFiles(scope, delivery, request);
    const bytes = delivery.drafts.reduce((sum, { size }) => sum + size, 0);
    let hold: QuotaReservation | undefined;
    try {
      const granted = await mapCooperatively(documents, (document) => grantsForDocumentAsync(scope, document));
      if (granted.some((grants) => grants.length === 0)) {
        throw new MillraceError('forbidden', 'No policy allows creating this file');
      }
      hold = await this.#deps.quotas?.reserve(creator, request, { files: keys.length, bytes });
      await rights.check();
    } catch (error) {
      hold?.release();
      await removeStoredBytes(keys, intake);
      throw error;
    }
    try {
      await this.#deps.transactions.run(async (session) => {
        await this.#deps.marks.commit(intake.fileStore.name, keys, session);
        await this.#deps.store.insertMany(documents, session);
      });
    } catch (error) {
      hold?.release();
      throw error;
    } finally {
      // The outcome of a failed commit may be unknown: orphan cleanup checks the database.
      for (const key of keys) this.#deps.marks.releaseLease(intake.fileStore.name, key);
    }
    const { reader } = scope;
    return mapCooperatively(files.entries(), async ([index, file]) => {
      const fields = reader === null ? null : await visibleFieldTreeAsync(reader, documents[index] ?? {});
      return { file, fields: fields ?? SYSTEM_FIELDS_ONLY };
    });
  }

  /** @throws MillraceError `file-not-found` */
  async get(scope: Scope<'read'>, id: string): Promise<VisibleFile> {
    const raw = await this.#find(scope, id);
    if (raw === null) throw notFound(id);
    return await toVisibleFile(readScopeOf(scope), raw);
  }

  /** A file by a signed URL, which is valid for any client that has it. @throws MillraceError `file-not-found` */
  getSigned(principal: Principal, id: string): Promise<VisibleFile> {
    return this.get(signedUrlReadScope(principal, idFromText(id)), id);
  }

  /** The keys that sign URLs. */
  get signedUrlKeys(): SigningKeys {
    return this.#deps.signedUrlKeys;
  }

  /**
   * The result of a query on the files of a Scope, after the first batch was read.
   * @throws MillraceError `unknown-parameter`, `cursor-mismatch`, `query-timeout`
   */
  async list(scope: Scope<'read'>, query: Query): Promise<FileList> {
    const list = await listFiles(scope, query, this.#now(), this.#deps);
    return { ...list, batches: prependFirst(await list.batches.next(), list.batches) };
  }

  /**
   * Opens the bytes of a file that `get` found.
   * @throws MillraceError `file-store-unavailable`, also when the store of the file is not configured
   */
  async open({ key, size, store }: StoredFile, range?: ByteRange): Promise<Readable> {
    const fileStore = this.#deps.fileStores.get(store);
    if (fileStore !== undefined) return fileStore.read(key, size, range);
    throw new MillraceError('file-store-unavailable', 'The store of the file is not configured', {
      cause: new Error(`Store ${store} is not in MILLRACE_FILE_STORAGE`),
    });
  }

  /**
   * Deletes a file: its document immediately, its bytes directly afterwards or by orphan cleanup.
   * @param conditions headers with conditions on the file
   * @throws MillraceError `file-not-found`, `forbidden` when it may be read and not deleted, `precondition-failed`
   */
  async remove(scope: Scope<'delete'>, id: string, request: string, conditions: ConditionHeaders = {}): Promise<void> {
    const raw = await this.#find(scope, id);
    const readable = scope.reader !== null && (await this.#find(scope.reader, id)) !== null;
    if (raw === null) {
      if (readable) throw new MillraceError('forbidden', 'No policy allows deleting this file');
      requireConditions(conditions, null);
      throw notFound(id);
    }
    this.#deps.space?.requireRoomToDelete();
    const file = decodeStoredFile(raw);
    const { key, store, createdAt } = file;
    requireConditions(conditions, { etag: readable ? fileEntityTag(file) : '', lastModified: createdAt });
    await this.#deps.marks.recordPending(store, key);
    try {
      // If it was moved meanwhile, retry in its new store; if it was deleted meanwhile, it is not found there.
      if (!(await this.#deps.store.remove(file, toActorId(scope.principal), request))) {
        await this.remove(scope, id, request, conditions);
        return;
      }
      await this.#deps.fileStores.get(store)?.remove(key);
      if (this.#deps.fileStores.has(store)) await this.#deps.marks.deleteEntry(store, key);
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'file-store-unavailable') return;
      throw error;
    } finally {
      this.#deps.marks.releaseLease(store, key);
    }
  }

  async #find(scope: Scope, id: string): Promise<Uint8Array | null> {
    const key = parseFileId(id);
    const found = key === undefined ? null : await this.#deps.store.findRaw(key, toDatabaseFilter(scope));
    return found && ((await filterByScope(scope, [found]))[0] ?? null);
  }

  #now(): Date {
    return this.#deps.now?.() ?? new Date();
  }

  #toFiles({ principal }: Scope<'create'>, { drafts, metadataFields }: UploadBatch, request: string) {
    const createdAt = this.#now();
    const createdBy = principal.kind === 'anonymous' ? null : principal.id;
    const store = this.#deps.current.name;
    const files = drafts.map(
      (draft: UploadedFileInfo, index): StoredFile => ({
        ...draft,
        store,
        createdAt,
        createdBy,
        metadata: metadataFields[index] ?? null,
      }),
    );
    return { files, documents: files.map((file) => toFileDocument(file, principal, request)) };
  }
}

function notFound(id: string): MillraceError {
  return new MillraceError('file-not-found', `There is no file '${id.slice(0, 80)}'`);
}
