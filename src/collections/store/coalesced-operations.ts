/**
 * Coalescing: reads by id, pages, single creates and changes of many requests share database calls, because the
 * driver's cost per call is several times that of the HTTP request around it. Each request is authorized separately:
 * reads are grouped by the filter of their Scope, pages by their whole query, and a write was checked before.
 */
import type { Document, Filter, ObjectId } from 'mongodb';
import type { OrderedDocument } from '../../database/bson/stored-document.ts';
import type { CollectionName } from '../../database/collection-names.ts';
import { type FirstBatch, findOptionsKey, type RawFindOptions } from '../../database/cursors/find-raw.ts';
import { idKey, storedIdKey } from '../../database/json/transcode-document.ts';
import { RequestCoalescer } from '../../lib/concurrency/coalescer.ts';

/** Bounds of one shared call: a larger one would delay other requests. */
const LIMITS = { count: 256, bytes: 4 * 1024 * 1024 };

/** The shared calls, which the store implements. */
export interface CoalescedDatabaseCalls {
  /** The documents with these ids that match the filter, in any order. */
  findMany(name: CollectionName, ids: readonly unknown[], filter: Filter<Document>): Promise<readonly Buffer[]>;
  /** The first documents that a query matches. */
  findFirst(name: CollectionName, find: RawFindOptions): Promise<FirstBatch>;
  /** Inserts each document separately; returns results in their order, with an Error for each that failed. */
  insertEach(name: CollectionName, documents: readonly Document[]): Promise<readonly (true | Error)[]>;
  /**
   * Replaces each document that is still what was read, separately; false where it is not, an Error for each that
   * failed.
   */
  replaceEach(name: CollectionName, changes: readonly DocumentReplacement[]): Promise<readonly (boolean | Error)[]>;
}

/** A new state for a document that is still exactly what was read. */
export interface DocumentReplacement {
  readonly id: unknown;
  readonly old: Document | OrderedDocument;
  readonly next: Document | OrderedDocument;
}

interface Read {
  readonly name: CollectionName;
  readonly id: ObjectId | string;
  readonly filter: Filter<Document>;
}

interface SendRequest {
  readonly name: CollectionName;
  readonly find: RawFindOptions;
}

interface Insert {
  readonly name: CollectionName;
  readonly document: Document;
  /** Size of the document as BSON, in bytes. */
  readonly bytes: number;
}

interface Replace {
  readonly name: CollectionName;
  readonly change: DocumentReplacement;
  /** Size of both states together as BSON, in bytes. */
  readonly bytes: number;
}

export class CoalescedOperations {
  readonly #reads: RequestCoalescer<Read, Buffer | null>;
  readonly #pages: RequestCoalescer<SendRequest, FirstBatch>;
  readonly #inserts: RequestCoalescer<Insert, true>;
  readonly #replacements: RequestCoalescer<Replace, boolean>;
  /** Numbers the filter objects: requests share a read only when they have the same filter object. */
  readonly #filters = new WeakMap<object, number>();
  #count = 0;

  constructor(calls: CoalescedDatabaseCalls) {
    this.#reads = new RequestCoalescer((_key, reads) => readTogether(calls, reads), { ...LIMITS, bytesOf: () => 0 });
    this.#pages = new RequestCoalescer((_key, requested) => requestOnce(calls, requested), {
      ...LIMITS,
      bytesOf: () => 0,
    });
    this.#inserts = new RequestCoalescer((_key, inserts) => insertTogether(calls, inserts), {
      ...LIMITS,
      bytesOf: ({ bytes }) => bytes,
    });
    this.#replacements = new RequestCoalescer((_key, changes) => replaceTogether(calls, changes), {
      ...LIMITS,
      bytesOf: ({ bytes }) => bytes,
    });
  }

  /** The document with this id, or null. */
  find(name: CollectionName, id: ObjectId | string, filter: Filter<Document>): Promise<Buffer | null> {
    return this.#reads.submit(`${name}/${this.#numberOf(filter)}`, { name, id, filter });
  }

  /** The first documents that a query matches. Equal queries that arrive meanwhile share the next result. */
  page(name: CollectionName, find: RawFindOptions): Promise<FirstBatch> {
    return this.#pages.submit(`${name}/${findOptionsKey(find)}`, { name, find });
  }

  /** Inserts one document; rejects with the database's own error on a duplicate key. */
  async insert(name: CollectionName, document: Document, bytes: number): Promise<void> {
    await this.#inserts.submit(name, { name, document, bytes });
  }

  /** Replaces one document if it is still what was read; rejects with the database's own error. */
  replace(name: CollectionName, change: DocumentReplacement, bytes: number): Promise<boolean> {
    return this.#replacements.submit(name, { name, change, bytes });
  }

  #numberOf(filter: object): number {
    const known = this.#filters.get(filter) ?? ++this.#count;
    this.#filters.set(filter, known);
    return known;
  }
}

async function readTogether(calls: CoalescedDatabaseCalls, reads: readonly Read[]): Promise<(Buffer | null)[]> {
  const [first] = reads;
  if (!first) return [];
  const ids = new Map(reads.map(({ id }) => [idKey(id), id]));
  const found = new Map<string | null, Buffer>();
  for (const raw of await calls.findMany(first.name, [...ids.values()], first.filter)) found.set(storedIdKey(raw), raw);
  return reads.map(({ id }) => found.get(idKey(id)) ?? null);
}

async function requestOnce(calls: CoalescedDatabaseCalls, requested: readonly SendRequest[]): Promise<FirstBatch[]> {
  const [first] = requested;
  if (!first) return [];
  const found = await calls.findFirst(first.name, first.find);
  return requested.map(() => found);
}

async function insertTogether(
  calls: CoalescedDatabaseCalls,
  inserts: readonly Insert[],
): Promise<readonly (true | Error)[]> {
  const [first] = inserts;
  if (!first) return [];
  return calls.insertEach(
    first.name,
    inserts.map(({ document }) => document),
  );
}

async function replaceTogether(
  calls: CoalescedDatabaseCalls,
  replacements: readonly Replace[],
): Promise<readonly (boolean | Error)[]> {
  const [first] = replacements;
  if (!first) return [];
  return calls.replaceEach(
    first.name,
    replacements.map(({ change }) => change),
  );
}
