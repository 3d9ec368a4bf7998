/**
 * Expansion: documents named by an id inside other documents are shown with the answer, under `_expanded`. One level,
 * one query for each expansion and batch, and only what the reader's own Scope of the other collection reaches.
 */
import type { Document } from 'mongodb';
import { idFromText, idText } from '../database/ids.ts';
import { toWire } from '../database/json.ts';
import { type CollectionName, parseCollectionName } from '../database/names.ts';
import { readStored } from '../database/stored.ts';
import { idKey, storedIdKey } from '../database/transcode-document.ts';
import { toDatabaseFilter } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';
import type { Expansion as Wish } from '../query/query.ts';
import type { Store } from './store.ts';
import { seenBytes } from './view.ts';

/** One expansion that may be made: where the ids stand, and the Scope of the other collection; null shows nothing. */
export interface Expansion {
  /** Path of an id, or of a list of ids. */
  readonly path: string;
  readonly collection: CollectionName;
  readonly scope: Scope | null;
}

/**
 * @param scopeOf the reader's Scope of a collection, null when there is none
 * @throws MillraceError `invalid-name`
 */
export function toExpansions(wishes: readonly Wish[], scopeOf: (name: CollectionName) => Scope | null): Expansion[] {
  return wishes.map(({ path, collection }) => {
    const name = parseCollectionName(collection);
    return { path, collection: name, scope: scopeOf(name) };
  });
}

/** The documents of one batch as JSON texts, each with what was expanded. */
export async function expandBatch(
  store: Store,
  batch: readonly Uint8Array[],
  expansions: readonly Expansion[],
  meta: boolean,
): Promise<string[]> {
  const documents = batch.map(readStored);
  const found = await Promise.all(expansions.map((expansion) => look(store, documents, expansion)));
  return documents.map((document) => {
    const parts = expansions.map(({ path }, index) => [path, pick(valueAt(document, path), found[index])]);
    return JSON.stringify({ ...toWire(document, { meta }), _expanded: Object.fromEntries(parts) });
  });
}

type Found = ReadonlyMap<string | null, unknown>;

async function look(
  store: Store,
  documents: readonly Document[],
  { path, collection, scope }: Expansion,
): Promise<Found> {
  const ids = new Map(
    documents.flatMap((document) => idsOf(valueAt(document, path))).map((id) => [idKey(id), id] as const),
  );
  if (ids.size === 0 || scope === null) return new Map();
  const found = await store.findMany(collection, [...ids.values()], toDatabaseFilter(scope));
  return new Map(
    found.flatMap((raw) => {
      const seen = seenBytes(scope, raw, true);
      return seen === null ? [] : [[storedIdKey(raw), toWire(readStored(seen))] as const];
    }),
  );
}

/** What stands in the place of an id, or of a list of ids. */
function pick(value: unknown, found: Found | undefined): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => pick(item, found));
  const [id] = idsOf(value);
  return id === undefined ? null : (found?.get(idKey(id)) ?? null);
}

/** Clients write ids as texts, other writers as ObjectIds: both name the same document. */
function idsOf(value: unknown): ReturnType<typeof idFromText>[] {
  if (Array.isArray(value)) return value.flatMap(idsOf);
  return value === undefined || value === null ? [] : [idFromText(idText(value))];
}

function valueAt(document: Document, path: string): unknown {
  let value: unknown = document;
  for (const step of path.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}
