/**
 * What can be done with documents. Every operation takes a Scope; every change of one document is a
 * compare-and-replace of the exact stored value, repeated when somebody else was faster. It needs no transaction, and
 * can be a part of one.
 * Not here: HTTP (routes.ts), the database's language (store.ts), how a new document is computed (stored.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { actorOf } from '../auth/principal.ts';
import { duplicateKey, translated, translateError } from '../database/errors.ts';
import { idText, newId, parseNewId } from '../database/ids.ts';
import type { CollectionName } from '../database/names.ts';
import { decodeOrdered, decodeStored, decodeStoredId, inOrderOf } from '../database/stored.ts';
import { MillraceError } from '../kernel/errors.ts';
import { KeyedQueues } from '../kernel/queues.ts';
import { reaches } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';
import type { Query } from '../query/query.ts';
import type { Atomic, Within } from './atomic.ts';
import { type Expansion, expandBatch } from './expansion.ts';
import { type List, Listing, type ListingParts, type Steps } from './listing.ts';
import { Lookup } from './lookup.ts';
import { checkPreconditions, type Preconditions, UNCONDITIONAL } from './preconditions.ts';
import { at, duplicate, notAvailable, tooBusy } from './refusals.ts';
import type { Registry } from './registry.ts';
import { createStored, type JsonObject, type Origin, replaceStored } from './stored.ts';
import { type StoredDocument, toStored, written } from './stored-document.ts';

/** How often a change is computed anew before the writer is told that the document is too busy. */
const ATTEMPTS = 8;
/** Documents of one bulk create. */
export const MAX_DOCUMENTS = 1_000;

/** The request a write belongs to. */
export interface Write {
  readonly request: string;
  readonly preconditions: Preconditions;
  /** The transaction that the write is a part of. */
  readonly within?: Within;
}

/** Computes the new state of a document from the stored one. */
export type Change = (old: Document, origin: Origin) => Document;

export interface CollectionsParts extends ListingParts {
  readonly registry: Registry;
  readonly atomic: Atomic;
  readonly now?: () => Date;
}

export class Collections {
  readonly #parts: CollectionsParts;
  readonly #listing: Listing;
  readonly #lookup: Lookup;
  readonly #queues = new KeyedQueues();

  constructor(parts: CollectionsParts) {
    this.#parts = parts;
    this.#listing = new Listing(parts);
    this.#lookup = new Lookup(parts.store, parts.registry);
  }

  /**
   * The documents that a query finds, after the first batch has been read.
   * @throws MillraceError `resource-not-available` when the collection was never created
   */
  async list(scope: Scope, name: CollectionName, query: Query): Promise<List> {
    const list = await this.#listing.list(scope, name, query, this.#now());
    const { documents } = list;
    if (!('next' in documents)) {
      if (documents.length === 0 && !(await this.#parts.registry.exists(name))) throw notAvailable(name);
      return list;
    }
    const first = await documents.next();
    if (first.done && !(await this.#parts.registry.exists(name))) throw notAvailable(name);
    return { ...list, documents: resume(first, documents) };
  }

  /** The documents of one batch as JSON texts, with the documents they name. */
  expand(batch: readonly Uint8Array[], expansions: readonly Expansion[], meta: boolean): Promise<string[]> {
    return expandBatch(this.#parts.store, batch, expansions, meta);
  }

  /** @throws MillraceError `resource-not-available`, `document-not-found` */
  async get(scope: Scope, name: CollectionName, id: string): Promise<StoredDocument> {
    const raw = await this.#lookup.find(scope, name, id);
    if (raw === null) throw await this.#lookup.missing(name, id);
    return toStored(raw);
  }

  /** @throws MillraceError `id-exists`, `unique-violation`, `invalid-id`, `unsupported-key` */
  async create(scope: Scope, name: CollectionName, body: JsonObject, write: Write): Promise<StoredDocument> {
    const document = createStored(body, this.#origin(scope, write), newId);
    requireReach(scope, document);
    const stored = written(document);
    const { store, registry } = this.#parts;
    await (write.within ? registry.ensureWithin(name, write.within) : registry.ensure(name));
    try {
      await store.insert(name, document, stored.raw.length, write.within?.session);
    } catch (error) {
      throw duplicateKey(error) ? duplicate(error, document) : translateError(error);
    }
    return { ...stored, createdId: idText(document['_id']) };
  }

  /** Creates all documents in order, or none. */
  async createMany(
    scope: Scope,
    name: CollectionName,
    bodies: readonly JsonObject[],
    write: Write,
  ): Promise<readonly StoredDocument[]> {
    if (bodies.length > MAX_DOCUMENTS) {
      throw new MillraceError('too-many-documents', `${bodies.length} documents are more than ${MAX_DOCUMENTS}`);
    }
    const origin = this.#origin(scope, write);
    const documents = bodies.map((body, index) => {
      try {
        const document = createStored(body, origin, newId);
        requireReach(scope, document);
        return document;
      } catch (error) {
        throw at(`/${index}`, error);
      }
    });
    await this.#parts.atomic.run(async (within) => {
      await this.#parts.registry.ensureWithin(name, within);
      try {
        await this.#parts.store.insertMany(name, documents, within.session);
      } catch (error) {
        const index = duplicateKey(error)?.index;
        throw index === undefined ? error : at(`/${index}`, duplicate(error, documents[index]));
      }
    }, write.within);
    return documents.map(written);
  }

  /** Replaces a document; with `upsert` or `If-None-Match: *` one that does not exist is created. */
  async replace(
    scope: Scope,
    name: CollectionName,
    id: string,
    body: JsonObject,
    write: Write & { readonly upsert: boolean },
  ): Promise<StoredDocument> {
    const createOnly = write.preconditions.ifNoneMatch === '*';
    // A failed insert ends a transaction, so inside of one it is asked before.
    if (createOnly && write.within) await this.#refuseExisting(scope, name, id, write);
    for (let attempt = 1; ; attempt++) {
      if (!createOnly) {
        const replaced = await this.#change(scope, name, id, write, (old, origin) => replaceStored(old, body, origin));
        if (replaced) return replaced;
        if (!write.upsert) throw await this.#lookup.missing(name, id, write.preconditions, write.within);
        checkPreconditions(write.preconditions, null);
      }
      try {
        return await this.create(scope, name, { ...body, id: parseNewId(id) }, write);
      } catch (error) {
        if (!(error instanceof MillraceError && error.code === 'id-exists')) throw error;
        if (createOnly) checkPreconditions(write.preconditions, (await this.get(scope, name, id)).etag);
        if (attempt === ATTEMPTS || write.within) throw tooBusy(id);
      }
    }
  }

  /** Changes a document; its members stay where they were. */
  async patch(scope: Scope, name: CollectionName, id: string, change: Change, write: Write): Promise<StoredDocument> {
    const changed = await this.#change(scope, name, id, write, change, true);
    if (changed === null) throw await this.#lookup.missing(name, id, write.preconditions, write.within);
    return changed;
  }

  /** Deletes a document and returns it as it was. */
  async remove(scope: Scope, name: CollectionName, id: string, write: Write): Promise<StoredDocument> {
    const { store } = this.#parts;
    const session = write.within?.session;
    const removed = await this.#queued(name, id, write, async () => {
      const raw = await this.#lookup.find(scope, name, id, write.within);
      if (raw === null) return null;
      // Its id and its stamp are enough: a document that could not be written back as it is can still go.
      const stored = decodeStoredId(raw);
      const before = toStored(raw);
      checkPreconditions(write.preconditions, before.etag);
      const unchanged = write.preconditions.ifMatch === undefined ? undefined : decodeOrdered(raw);
      const stamp = { by: actorOf(scope.principal), request: write.request };
      const removed =
        (await store.stamp(name, stored, stamp, unchanged, session)) &&
        (await store.removeStamped(name, stored, write.request, session));
      return removed ? before : undefined;
    });
    if (removed === null) throw await this.#lookup.missing(name, id, write.preconditions, write.within);
    return removed;
  }

  /** One read-modify-write; null when there is no such document. `keepOrder`: members stay where they were. */
  #change(
    scope: Scope,
    name: CollectionName,
    id: string,
    write: Write,
    compute: Change,
    keepOrder = false,
  ): Promise<StoredDocument | null> {
    return this.#queued(name, id, write, async () => {
      const raw = await this.#lookup.find(scope, name, id, write.within);
      if (raw === null) return null;
      const old = decodeStored(raw);
      // Only a conditional write has to know the entity tag of what it replaces.
      if (write.preconditions !== UNCONDITIONAL) checkPreconditions(write.preconditions, toStored(raw).etag);
      const next = compute(old, this.#origin(scope, write));
      requireReach(scope, next);
      const exact = decodeOrdered(raw);
      const placed = keepOrder ? inOrderOf(next, exact) : next;
      const session = write.within?.session;
      const stored = written(placed);
      const change = { id: old['_id'], old: exact, next: placed };
      const replaced = await this.#parts.store.compareAndReplace(name, change, raw.length + stored.raw.length, session);
      return replaced ? stored : undefined;
    });
  }

  /**
   * Repeats `attempt` while it answers undefined (somebody else was faster), one writer of a document at a time. Inside
   * a transaction it cannot wait for others: the whole transaction runs again.
   */
  #queued<T>(name: CollectionName, id: string, write: Write, attempt: () => Promise<T | undefined>): Promise<T> {
    const repeat = async (): Promise<T> => {
      for (let tries = 1; ; tries++) {
        const result = await translated(attempt);
        if (result !== undefined) return result;
        if (tries === ATTEMPTS || write.within) throw tooBusy(id);
        await pause(Math.random() * 2 ** tries);
      }
    };
    return write.within ? repeat() : this.#queues.run(`${name}/${id}`, repeat);
  }

  async #refuseExisting(scope: Scope, name: CollectionName, id: string, write: Write): Promise<void> {
    const raw = await this.#lookup.find(scope, name, id, write.within);
    if (raw !== null) checkPreconditions(write.preconditions, toStored(raw).etag);
  }

  #now(): Date {
    return this.#parts.now?.() ?? new Date();
  }

  #origin(scope: Scope, write: Write): Origin {
    return { principal: scope.principal, request: write.request, now: this.#now() };
  }
}

/** Nobody writes a document out of their own reach.
 * @throws MillraceError `forbidden`
 */
export function requireReach(scope: Scope, document: Document): void {
  if (!reaches(scope, document)) {
    throw new MillraceError('forbidden', `No policy allows to ${scope.action} this document`);
  }
}

/** The whole of a sequence whose first step was taken already. Not a generator: one that never ran closes nothing. */
function resume<T>(first: IteratorResult<T>, rest: Steps<T>): Steps<T> {
  let taken: IteratorResult<T> | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => {
      const step = taken ?? rest.next();
      taken = undefined;
      return step;
    },
    return: (value) => rest.return(value),
  };
}
