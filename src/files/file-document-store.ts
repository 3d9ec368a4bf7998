/** The documents of `_files` in the database; inserting one commits an upload. Only this folder calls this file. */
import type { ClientSession, Collection, Document, Filter } from 'mongodb';
import { requireRawBson } from '../database/cursors/cursor-reply.ts';
import { findRaw, findRawBatches, type RawFindOptions } from '../database/cursors/find-raw.ts';
import { translateError, withTranslatedErrors } from '../database/errors.ts';
import { idFromText } from '../database/json/ids.ts';
import type { Mongo } from '../database/mongo.ts';
import { ensureSystemCollection } from '../database/system-collection.ts';
import type { FileKey } from './stores/file-store.ts';
import { decodeStoredFile, type StoredFile } from './upload/file.ts';

const FILES = '_files';
/** The field with the store of the bytes. */
export const STORE_FIELD = '_meta.store';
/** Maximum documents per batch. */
const BATCH = 1_000;

export type FileFindOptions = Omit<RawFindOptions, 'filter' | 'batchSize'>;

export class FileDocuments {
  readonly #mongo: Mongo;
  readonly #files: Collection;
  readonly #queryTimeoutMs: number;

  constructor(mongo: Mongo, queryTimeoutMs: number) {
    this.#mongo = mongo;
    this.#files = mongo.data.collection(FILES);
    this.#queryTimeoutMs = queryTimeoutMs;
  }

  /** Ensures that the collection exists and keeps pre- and post-images, so that its events contain both states. */
  async start(): Promise<void> {
    await ensureSystemCollection(this.#mongo, FILES);
  }

  async insertMany(documents: readonly Document[], session: ClientSession): Promise<void> {
    await this.#files.insertMany([...documents], { session, ordered: true });
  }

  async find(key: FileKey): Promise<StoredFile | null> {
    const found = await this.findRaw(key, {});
    return found === null ? null : decodeStoredFile(found);
  }

  /** The document of a file if it matches a filter. */
  async findRaw(key: FileKey, filter: Filter<Document>): Promise<Uint8Array | null> {
    const found = await withTranslatedErrors(() =>
      this.#files.findOne({ $and: [byKey(key), filter] }, { raw: true, maxTimeMS: this.#queryTimeoutMs }),
    );
    return found === null ? null : requireRawBson(found);
  }

  /** The documents that match a filter, in raw batches. The first batch is requested when iteration starts. */
  async *list(filter: Filter<Document>, options: FileFindOptions): AsyncGenerator<readonly Uint8Array[]> {
    try {
      yield* findRawBatches(this.#mongo.data, FILES, { filter, batchSize: BATCH, ...options });
    } catch (error) {
      throw translateError(error);
    }
  }

  /** The same for a query with a limit: returns all documents at once. */
  page(
    filter: Filter<Document>,
    options: FileFindOptions & { readonly limit: number },
  ): Promise<readonly Uint8Array[]> {
    const find = { filter, batchSize: options.limit, ...options };
    return withTranslatedErrors(() => findRaw(this.#mongo.data, FILES, find));
  }

  async aggregate(stages: Document[], maxTimeMS: number): Promise<Uint8Array[]> {
    const found = await withTranslatedErrors(() => this.#files.aggregate(stages, { raw: true, maxTimeMS }).toArray());
    return found.map(requireRawBson);
  }

  count(filter: Filter<Document>): Promise<number> {
    return withTranslatedErrors(() => this.#files.countDocuments(filter, { maxTimeMS: this.#queryTimeoutMs }));
  }

  /**
   * Records the actor and the request of the deletion, then deletes the document.
   * @returns false if another request deleted it, or it was moved to another store
   */
  async remove({ key, store }: StoredFile, by: string | null, request: string): Promise<boolean> {
    const file = { ...byKey(key), [STORE_FIELD]: store };
    return withTranslatedErrors(async () => {
      await this.#files.updateOne(file, { $set: { '_meta.by': by, '_meta.request': request } });
      const { deletedCount } = await this.#files.deleteOne({ ...file, '_meta.request': request });
      return deletedCount === 1;
    });
  }

  /** Updates the store of the bytes; false if the file was deleted or is in another store already. */
  async relocate(key: FileKey, from: string, to: string): Promise<boolean> {
    const { matchedCount } = await withTranslatedErrors(() =>
      this.#files.updateOne({ ...byKey(key), [STORE_FIELD]: from }, { $set: { [STORE_FIELD]: to } }),
    );
    return matchedCount === 1;
  }
}

function byKey(key: FileKey): Document {
  return { _id: idFromText(key) };
}
