/**
 * Which fields the documents of a collection show to one Scope, and the kinds of their values, from a sample of the
 * newest ones. For hints about empty results: the sample is read through the Scope, so a hint reveals nothing that a
 * list would not.
 */
import type { Document } from 'mongodb';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import type { Scope } from '../../policies/scope.ts';
import { isInScope, restrictFilterToScopes, toDatabaseFilter } from '../../policies/scope-filter.ts';
import {
  type BsonKind,
  bsonKindOf,
  type EmbeddedDocument,
  isEmbeddedDocument,
} from '../../query/evaluate/bson-order.ts';
import { compileMatcher } from '../../query/evaluate/match.ts';
import { clientPath, isArrayPosition, joinPath, splitPath } from '../../query/field-paths.ts';
import type { Filter } from '../../query/filter.ts';
import type { DocumentStore } from '../store/store.ts';
import { visibleDocumentBson } from './document-view.ts';

/** Documents of a sample. */
const SAMPLE = 50;
/** Database time of one sample; without one there is no hint. */
const SAMPLE_MS = 200;
/** Concurrent samples; beyond that there is no hint. */
const AT_ONCE = 2;
/** How long the presence of a field in a sample is remembered, and its absence. */
const SHOWN_MS = 60_000;
const LACKED_MS = 5_000;
/** Maximum fields that are remembered for one Scope. */
const MAX_KNOWN = 200;
/** Elements of an array whose kinds are checked. */
const MAX_ELEMENTS = 100;
/** Names of one sample, and levels of objects from which they are collected. */
const MAX_NAMES = 300;
const MAX_DEPTH = 4;

/** What a sample has of some fields. */
export interface SampledFieldKinds {
  /** Wire paths of the fields that no document of the sample has. */
  readonly lacking: readonly string[];
  /** The kinds of the values of the other fields, by stored path; an array counts with its elements. */
  readonly kinds: ReadonlyMap<string, ReadonlySet<BsonKind>>;
  /** Wire paths of fields that the sample has; none when every field was known without a sample. */
  readonly names: readonly string[];
  /** Number of documents in the sample. */
  readonly documents: number;
  /** True if these are all documents of the Scope. */
  readonly all: boolean;
}

/** What is remembered of one field. */
interface Known {
  readonly until: number;
  /** Empty when the sample lacked it. */
  readonly kinds: ReadonlySet<BsonKind>;
  /** The sample that lacked it. */
  readonly sampled: Omit<SampledFieldKinds, 'lacking' | 'kinds'> | null;
}

export class SampledFields {
  readonly #store: DocumentStore;
  /** By the grants that make them visible, and by collection and path. */
  readonly #known = new WeakMap<Scope['grants'], Map<string, Known>>();
  #running = 0;

  constructor(store: DocumentStore) {
    this.#store = store;
  }

  /**
   * What a sample has of the fields. Recently found fields are not looked up again.
   * @param paths stored paths
   * @param lately true if a sample of the last seconds is enough, for lists that are not empty
   * @returns null when the Scope includes no document, or there is no time for a sample
   */
  async sample(
    scope: Scope<'read'>,
    name: CollectionName,
    paths: Iterable<string>,
    lately = false,
  ): Promise<SampledFieldKinds | null> {
    const requested = [...paths].filter((path) => path !== '_id');
    const known = requested.map((path) => [path, this.#lookUp(scope, name, path)] as const);
    const kinds = new Map(
      known.flatMap(([path, one]) => (one !== null && one.kinds.size > 0 ? [[path, one.kinds]] : [])),
    );
    if (kinds.size === requested.length) return { lacking: [], kinds, names: [], documents: 0, all: false };
    const [last] = known.flatMap(([, one]) => one?.sampled ?? []);
    if (lately && last !== undefined && known.every(([, one]) => one !== null)) {
      return { ...last, lacking: requested.filter((path) => !kinds.has(path)).map(clientPath), kinds };
    }
    return this.#briefly(async () => {
      const { documents, all } = await this.#newestDocuments(scope, name);
      if (documents.length === 0) return null;
      const sampled = { names: namesOf(documents), documents: documents.length, all };
      const lacking: string[] = [];
      for (const path of requested) {
        const found = kindsIn(documents, path);
        this.#remember(scope, name, path, found, sampled);
        if (found.size > 0) kinds.set(path, found);
        else lacking.push(clientPath(path));
      }
      return { ...sampled, lacking, kinds };
    });
  }

  /** The fields that are not remembered as present. */
  unknownFields(scope: Scope<'read'>, name: CollectionName, paths: readonly string[]): readonly string[] {
    return paths.filter((path) => (this.#lookUp(scope, name, path)?.kinds.size ?? 0) === 0);
  }

  /**
   * Remembers the fields that some of the documents have.
   * @returns the others
   */
  rememberFields(
    scope: Scope<'read'>,
    name: CollectionName,
    paths: readonly string[],
    documents: readonly Uint8Array[],
  ): readonly string[] {
    const read = documents.map(decodeDocument);
    return paths.filter((path) => {
      const kinds = kindsIn(read, path);
      if (kinds.size > 0) this.#remember(scope, name, path, kinds);
      return kinds.size === 0;
    });
  }

  /** The newest documents of the Scope, as it sees them; none when there is no time for a sample. */
  async newestDocuments(scope: Scope<'read'>, name: CollectionName): Promise<readonly Document[]> {
    return (await this.#briefly(() => this.#newestDocuments(scope, name)))?.documents ?? [];
  }

  /** Whether the Scope includes a document that matches the filter; null when there is no time for the query. */
  async hasMatch(scope: Scope<'read'>, name: CollectionName, filter: Filter): Promise<boolean | null> {
    return this.#briefly(async () => {
      const { documents } = await this.#store.page(name, restrictFilterToScopes(filter, scope), {
        limit: 1,
        maxTimeMS: SAMPLE_MS,
      });
      const match = compileMatcher(filter);
      return documents.map(decodeDocument).some((document) => match(document) && isInScope(scope, document));
    });
  }

  /** Runs a read for a hint. A failed hint causes no error: the response itself is complete. */
  async #briefly<T>(read: () => Promise<T>): Promise<T | null> {
    if (this.#running >= AT_ONCE) return null;
    this.#running++;
    try {
      return await read();
    } catch {
      return null;
    } finally {
      this.#running--;
    }
  }

  async #newestDocuments(
    scope: Scope<'read'>,
    name: CollectionName,
  ): Promise<{ documents: readonly Document[]; all: boolean }> {
    const options = { sort: new Map([['_id', -1 as const]]), limit: SAMPLE, maxTimeMS: SAMPLE_MS };
    const { documents, more = false } = await this.#store.page(name, toDatabaseFilter(scope), options);
    const seen = (await mapCooperatively(documents, (raw) => visibleDocumentBson(scope, raw, true))).filter(
      (raw) => raw !== null,
    );
    return { documents: seen.map(decodeDocument), all: !more && documents.length < SAMPLE };
  }

  #lookUp({ grants }: Scope<'read'>, name: CollectionName, path: string): Known | null {
    const known = this.#known.get(grants)?.get(`${name}/${path}`);
    return known !== undefined && known.until > performance.now() ? known : null;
  }

  #remember(
    { grants }: Scope<'read'>,
    name: CollectionName,
    path: string,
    kinds: ReadonlySet<BsonKind>,
    sampled: Known['sampled'] = null,
  ): void {
    const known = this.#known.get(grants) ?? new Map<string, Known>();
    if (known.size >= MAX_KNOWN) known.clear();
    const until = performance.now() + (kinds.size > 0 ? SHOWN_MS : LACKED_MS);
    this.#known.set(grants, known.set(`${name}/${path}`, { until, kinds, sampled: kinds.size > 0 ? null : sampled }));
  }
}

/** The kinds of all values at a path in the documents, through arrays as filters do. */
function kindsIn(documents: readonly Document[], path: string): ReadonlySet<BsonKind> {
  const kinds = new Set<BsonKind>();
  for (const document of documents) collectKinds(document, splitPath(path), kinds);
  return kinds;
}

function collectKinds(node: unknown, steps: readonly string[], kinds: Set<BsonKind>): void {
  const [step, ...rest] = steps;
  if (step === undefined) {
    if (node !== undefined) kinds.add(bsonKindOf(node));
    for (const element of elementsOf(node)) kinds.add(bsonKindOf(element));
    return;
  }
  if (Array.isArray(node) && isArrayPosition(step)) collectKinds(node[Number(step)], rest, kinds);
  for (const element of elementsOf(node)) if (isEmbeddedDocument(element)) collectKinds(element, steps, kinds);
  if (isEmbeddedDocument(node) && Object.hasOwn(node, step)) collectKinds(node[step], rest, kinds);
}

const elementsOf = (node: unknown): readonly unknown[] => (Array.isArray(node) ? node.slice(0, MAX_ELEMENTS) : []);

/** Field names as clients write them, those of the first documents first. */
function namesOf(documents: readonly Document[]): readonly string[] {
  const names = new Set<string>();
  for (const document of documents) collectNames(document, '', MAX_DEPTH, names);
  return [...names];
}

function collectNames(node: EmbeddedDocument, prefix: string, depth: number, names: Set<string>): void {
  for (const [name, value] of Object.entries(node)) {
    if (names.size >= MAX_NAMES) return;
    if (prefix === '' && name === '_meta') continue;
    const path = prefix + joinPath([name]);
    names.add(clientPath(path));
    if (depth === 1) continue;
    for (const inner of Array.isArray(value) ? value : [value]) {
      if (isEmbeddedDocument(inner)) collectNames(inner, `${path}.`, depth - 1, names);
    }
  }
}
