/**
 * Which collections exist, and how one is created: with pre- and post-images enabled, so that its events can include
 * both states. "Exists" is remembered, "does not exist" is not: another process may create the collection at any
 * moment.
 */

import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import {
  type CollectionName,
  type ForeignCollectionName,
  isCollectionName,
  isForeignCollectionName,
} from '../database/parse-collection-name.ts';
import { ensureCollection } from '../database/system-collection.ts';
import { MillraceError } from '../lib/errors.ts';
import type { TransactionContext } from './open-transaction.ts';

const IMAGES = { enabled: true } as const;

/** Milliseconds that enabling images may wait for a lock. Meanwhile all later writes to the collection wait too. */
const LOCK_MS = 1000;

export class CollectionRegistry {
  readonly #mongo: Mongo;
  readonly #known = new Set<CollectionName>();

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
  }

  /** Queries the server whether a collection exists; for reads without a result. */
  async exists(name: CollectionName): Promise<boolean> {
    return (await this.#options(name)) !== undefined;
  }

  /** The collections that clients can name, sorted by name. */
  async names(): Promise<readonly CollectionName[]> {
    return (await this.#all()).filter(isCollectionName);
  }

  /** The collections of other programs that clients cannot name, sorted by name. */
  async otherNames(): Promise<readonly ForeignCollectionName[]> {
    return (await this.#all()).filter(isForeignCollectionName);
  }

  async #all(): Promise<string[]> {
    const found = await withTranslatedErrors(() => this.#mongo.data.listCollections({}, { nameOnly: true }).toArray());
    return found.map(({ name }) => name).sort();
  }

  /**
   * Ensures that a collection exists with images enabled. Costs nothing once it is known.
   * @throws MillraceError `database-unavailable` while another program locks one without images
   */
  async ensure(name: CollectionName): Promise<void> {
    if (this.#known.has(name)) return;
    await withTranslatedErrors(() => this.#make(name));
    this.#known.add(name);
  }

  /**
   * The same inside a transaction: a collection made here vanishes again when the transaction fails. Images of an
   * existing collection cannot be switched on here: that waits for every lock on it, also for those of this
   * transaction.
   * @throws MillraceError `write-conflict` for a collection without images, which is prepared before the second run
   * @throws MongoServerError error 48 (another client created it first); the second run finds the collection
   */
  async ensureWithin(name: CollectionName, { session, created, unprepared }: TransactionContext): Promise<void> {
    if (this.#known.has(name) || created.has(name)) return;
    const options = await this.#options(name);
    if (options === undefined) {
      await this.#mongo.data.createCollection(name, { changeStreamPreAndPostImages: IMAGES, session });
      created.add(name);
    } else if (keepsImages(options)) {
      this.#known.add(name);
    } else {
      unprepared.add(name);
      throw new MillraceError('write-conflict', `Collection '${name}' is being set up for events`);
    }
  }

  /** Remembers that a collection exists. */
  rememberExisting(name: CollectionName): void {
    this.#known.add(name);
  }

  /** Processes rows of the event log, or null when some were lost: removed collections are no longer known to exist. */
  applyLogRows(rows: readonly { readonly operation: string; readonly collection: string | null }[] | null): void {
    if (rows === null) this.#known.clear();
    for (const { operation, collection } of rows ?? []) {
      const gone = operation === 'drop' || operation === 'rename';
      if (gone && collection !== null && isCollectionName(collection)) this.forget(collection);
    }
  }

  /** The collection may not exist any more: the next write checks again. */
  forget(name: CollectionName): void {
    this.#known.delete(name);
  }

  async #options(name: CollectionName): Promise<object | undefined> {
    const [found] = await withTranslatedErrors(() =>
      this.#mongo.data.listCollections({ name }, { nameOnly: false }).toArray(),
    );
    return found === undefined ? undefined : ('options' in found && found.options) || {};
  }

  async #make(name: CollectionName): Promise<void> {
    try {
      await ensureCollection(this.#mongo.data, name, LOCK_MS);
    } catch (error) {
      const code = mongoErrorCode(error);
      if (code !== MONGO_ERROR_CODES.maxTimeExpired && code !== MONGO_ERROR_CODES.indexBeingBuilt) throw error;
      // Not `write-conflict`: a transaction would repeat and wait again and again.
      throw new MillraceError('database-unavailable', `Collection '${name}' is locked in the database`, {
        hint: 'Another program has an open transaction there or builds an index; try again when it has finished',
        headers: { 'retry-after': '1' },
        cause: error,
      });
    }
  }
}

function keepsImages(options: object): boolean {
  const images: unknown = 'changeStreamPreAndPostImages' in options ? options.changeStreamPreAndPostImages : undefined;
  return images !== null && typeof images === 'object' && 'enabled' in images && images.enabled === true;
}
