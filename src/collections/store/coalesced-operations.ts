/**
 * Coalescing: reads by id, pages, single creates and changes of many requests share database calls, because the
 * driver's cost per call is several times that of the HTTP request around it. Authorisation stays with each request:
 * reads are grouped by the filter of their Scope, pages by their whole question, and a write was checked before it came
 * here.
 */
import type { Document, Filter, ObjectId } from 'mongodb';
import type { OrderedDocument } from '../../database/bson/stored.ts';
import { type FirstFound, type RawFind, wordsOf } from '../../database/cursors/find-raw.ts';
import { idKey, storedIdKey } from '../../database/json/transcode-document.ts';
import type { CollectionName } from '../../database/names.ts';
import { Batches } from '../../kernel/concurrency/batches.ts';

/** Bounds of one shared call: a larger one would delay other requests. */
const LIMITS = { count: 256, bytes: 4 * 1024 * 1024 };

/** The calls that are shared; the store makes them. */
export interface CoalescedCalls {
  /** The documents with these ids that the filter lets through, in any order. */
  findMany(name: CollectionName, ids: readonly unknown[], filter: Filter<Document>): Promise<readonly Buffer[]>;
  /** The first documents of what a question finds. */
  findFirst(name: CollectionName, find: RawFind): Promise<FirstFound>;
  /** Inserts each document by itself; answers in their order, with an Error for each that failed. */
  insertEach(name: CollectionName, documents: readonly Document[]): Promise<readonly (true | Error)[]>;
  /** Replaces each document that still is what was read, by itself; false where it is not, an Error for what failed. */
  replaceEach(name: CollectionName, changes: readonly Replacement[]): Promise<readonly (boolean | Error)[]>;
}

/** A new state for a document that still is, to the last value, what was read. */
export interface Replacement {
  readonly id: unknown;
  readonly old: Document | OrderedDocument;
  readonly next: Document | OrderedDocument;
}

interface Read {
  readonly name: CollectionName;
  readonly id: ObjectId | string;
  readonly filter: Filter<Document>;
}

interface Ask {
  readonly name: CollectionName;
  readonly find: RawFind;
}

interface Insert {
  readonly name: CollectionName;
  readonly document: Document;
  /** Size of the document as BSON, in bytes. */
  readonly bytes: number;
}

interface Replace {
  readonly name: CollectionName;
  readonly change: Replacement;
  /** Size of both states together as BSON, in bytes. */
  readonly bytes: number;
}

export class CoalescedOperations {
  readonly #reads: Batches<Read, Buffer | null>;
  readonly #pages: Batches<Ask, FirstFound>;
  readonly #inserts: Batches<Insert, true>;
  readonly #replacements: Batches<Replace, boolean>;
  /** Numbers the filter objects: requests share a read only when they have the very same filter. */
  readonly #filters = new WeakMap<object, number>();
  #count = 0;

  constructor(calls: CoalescedCalls) {
    this.#reads = new Batches((_key, reads) => readTogether(calls, reads), { ...LIMITS, bytesOf: () => 0 });
    this.#pages = new Batches((_key, asked) => askOnce(calls, asked), { ...LIMITS, bytesOf: () => 0 });
    this.#inserts = new Batches((_key, inserts) => insertTogether(calls, inserts), {
      ...LIMITS,
      bytesOf: ({ bytes }) => bytes,
    });
    this.#replacements = new Batches((_key, changes) => replaceTogether(calls, changes), {
      ...LIMITS,
      bytesOf: ({ bytes }) => bytes,
    });
  }

  /** The document with this id, or null. */
  find(name: CollectionName, id: ObjectId | string, filter: Filter<Document>): Promise<Buffer | null> {
    return this.#reads.submit(`${name}/${this.#numberOf(filter)}`, { name, id, filter });
  }

  /** The first documents that a question finds. Equal questions that arrive meanwhile share the next answer. */
  page(name: CollectionName, find: RawFind): Promise<FirstFound> {
    return this.#pages.submit(`${name}/${wordsOf(find)}`, { name, find });
  }

  /** Inserts one document; rejects with the database's own error on a duplicate key. */
  async insert(name: CollectionName, document: Document, bytes: number): Promise<void> {
    await this.#inserts.submit(name, { name, document, bytes });
  }

  /** Replaces one document if it still is what was read; rejects with the database's own error. */
  replace(name: CollectionName, change: Replacement, bytes: number): Promise<boolean> {
    return this.#replacements.submit(name, { name, change, bytes });
  }

  #numberOf(filter: object): number {
    const known = this.#filters.get(filter) ?? ++this.#count;
    this.#filters.set(filter, known);
    return known;
  }
}

async function readTogether(calls: CoalescedCalls, reads: readonly Read[]): Promise<(Buffer | null)[]> {
  const [first] = reads;
  if (!first) return [];
  const ids = new Map(reads.map(({ id }) => [idKey(id), id]));
  const found = new Map<string | null, Buffer>();
  for (const raw of await calls.findMany(first.name, [...ids.values()], first.filter)) found.set(storedIdKey(raw), raw);
  return reads.map(({ id }) => found.get(idKey(id)) ?? null);
}

async function askOnce(calls: CoalescedCalls, asked: readonly Ask[]): Promise<FirstFound[]> {
  const [first] = asked;
  if (!first) return [];
  const found = await calls.findFirst(first.name, first.find);
  return asked.map(() => found);
}

async function insertTogether(calls: CoalescedCalls, inserts: readonly Insert[]): Promise<readonly (true | Error)[]> {
  const [first] = inserts;
  if (!first) return [];
  return calls.insertEach(
    first.name,
    inserts.map(({ document }) => document),
  );
}

async function replaceTogether(
  calls: CoalescedCalls,
  replacements: readonly Replace[],
): Promise<readonly (boolean | Error)[]> {
  const [first] = replacements;
  if (!first) return [];
  return calls.replaceEach(
    first.name,
    replacements.map(({ change }) => change),
  );
}
