/**
 * Expansion adds documents whose ids other documents hold to the response, one level deep, as far as the reader's own
 * Scope allows. A document may be large and referenced a thousand times, so its JSON is encoded once, and memory is
 * bounded.
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import { decodeNamedFields } from '../../database/bson/partial-decode.ts';
import { idCandidates, idFromText, idText } from '../../database/json/ids.ts';
import { encodeDocumentJson } from '../../database/json/json.ts';
import { type CollectionName, parseCollectionName } from '../../database/parse-collection-name.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { Scope } from '../../policies/scope.ts';
import { toDatabaseFilter } from '../../policies/scope-filter.ts';
import type { FieldSelection } from '../../query/evaluate/field-selection.ts';
import { clientPath, isArrayPosition, splitPath } from '../../query/field-paths.ts';
import type { Expansion as Wish } from '../../query/parse/query.ts';
import type { DocumentStore } from '../store/store.ts';
import { visibleDocumentBson } from './document-view.ts';
import { selectStoredFields } from './field-selection.ts';

/** Bounds of the expansions of one document: ids, and bytes of JSON, counted each time a document is referenced. */
const MOST = { ids: 10_000, bytes: 16 * 1024 * 1024 };
/** Bytes of JSON that are encoded before other requests run. */
const TURN_BYTES = 262_144;
/** Ids of one query. */
const IDS_AT_ONCE = 1_000;

/** One possible expansion: the path of the ids, and the Scope of the other collection; null shows nothing. */
export interface PermittedExpansion {
  /** Path of an id, or of a list of ids; it reaches into arrays. */
  readonly path: string;
  readonly collection: CollectionName;
  readonly scope: Scope<'read'> | null;
}

/** How documents are written with those they reference. */
export interface ExpansionOptions {
  readonly expansions: readonly PermittedExpansion[];
  /** The fields of the documents themselves, if they were read with more; null keeps all that was read. */
  readonly fields: FieldSelection | null;
  /** Whether `_meta` of the documents themselves is included. */
  readonly meta: boolean;
  /** The bytes that remain for all documents of the response. */
  readonly allowance: ExpansionBudget;
  /** Runs a query when its turn comes: each may take 16 MB. */
  readonly inTurn: <T>(task: () => Promise<T>) => Promise<T>;
}

/**
 * Serializes the documents of a batch with their expansions, the text of each in pieces.
 * @param hold called with the memory of the most recently read documents, in bytes
 */
export type ExpandDocuments = (
  batch: readonly Uint8Array[],
  hold?: (bytes: number) => void,
) => AsyncGenerator<readonly Buffer[]>;

/** Bytes that `expand` may add to one response. */
export class ExpansionBudget {
  readonly #most: number;
  #left: number;

  /** @param most bytes of JSON, counted each time they are included */
  constructor(most: number) {
    this.#most = most;
    this.#left = most;
  }

  /** @throws MillraceError `response-too-large` */
  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left >= 0) return;
    throw new MillraceError(
      'response-too-large',
      `The expanded documents have more than ${this.#most} bytes together`,
      {
        hint: 'Request fewer documents with limit, or read the referenced documents by their ids',
      },
    );
  }
}

/**
 * @param scopeOf the reader's Scope of a collection, null when there is none
 * @throws MillraceError `invalid-collection-name`
 */
export function toPermittedExpansions(
  wishes: readonly Wish[],
  scopeOf: (name: CollectionName) => Scope<'read'> | null,
): PermittedExpansion[] {
  return wishes.map(({ path, collection }) => {
    const name = parseCollectionName(collection);
    return { path, collection: name, scope: scopeOf(name) };
  });
}

/**
 * The documents of one batch, in their order, as JSON with their expansions: the text of each in pieces, which share
 * the bytes of referenced documents.
 * @param hold called with the memory of the most recently read documents, in bytes
 */
export async function* expandDocumentBatch(
  store: DocumentStore,
  batch: readonly Uint8Array[],
  how: ExpansionOptions,
  hold: (bytes: number) => void = () => undefined,
): AsyncGenerator<readonly Buffer[]> {
  const fields = how.expansions.map(({ path }) => Buffer.from(splitPath(path)[0] ?? ''));
  let group: Source[] = [];
  let ids = 0;
  for (const raw of batch) {
    const source = toSource(raw, how.expansions, fields);
    if (group.length > 0 && ids + source.ids > IDS_AT_ONCE) {
      yield* expandGroup(store, group, how, hold);
      group = [];
      ids = 0;
    }
    group.push(source);
    ids += source.ids;
  }
  yield* expandGroup(store, group, how, hold);
}

/** The value at a path: an id as its text, a list, or nothing that could be one. */
type Named = string | null | readonly Named[];

/** A document and what it references in each of the expansions. */
interface Source {
  readonly raw: Uint8Array;
  readonly named: readonly Named[];
  /** Number of ids in the expansion with the most of them. */
  readonly ids: number;
}

function toSource(raw: Uint8Array, expansions: readonly PermittedExpansion[], fields: readonly Buffer[]): Source {
  const document = decodeNamedFields(raw, fields);
  const named = expansions.map(({ path }) => namedBy(valueAt(document, splitPath(path))));
  const counts = named.map((one) => idsOf(one).length);
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all > MOST.ids) throw tooLarge(`references ${all} others, and at most ${MOST.ids} can be expanded`);
  return { raw, named, ids: Math.max(...counts) };
}

/** Expands a group of documents. If the referenced documents are too large to hold together, the group is split. */
async function* expandGroup(
  store: DocumentStore,
  group: readonly Source[],
  how: ExpansionOptions,
  hold: (bytes: number) => void,
): AsyncGenerator<readonly Buffer[]> {
  const found = await how.inTurn(() => look(store, group, how.expansions));
  if (found !== null) {
    hold(found.flatMap((texts) => [...texts.values()]).reduce((sum, { length }) => sum + length, 0));
    // All texts are encoded before the first one is sent, so that an error can still be reported. They share the bytes
    // of the referenced documents.
    yield* group.map((source) => textOf(source, found, how));
    return;
  }
  if (group.length === 1) throw tooLarge(TOO_MANY_BYTES);
  const half = Math.ceil(group.length / 2);
  yield* expandGroup(store, group.slice(0, half), how, hold);
  yield* expandGroup(store, group.slice(half), how, hold);
}

/** Documents as JSON by the texts that reference them. */
type Found = ReadonlyMap<string, Buffer>;

/**
 * Reads what a group references, for each expansion in turn: each reply may have 16 MB.
 * @returns null when it exceeds the memory limit
 */
async function look(
  store: DocumentStore,
  group: readonly Source[],
  expansions: readonly PermittedExpansion[],
): Promise<readonly Found[] | null> {
  const all: Found[] = [];
  let room = MOST.bytes;
  let turn = TURN_BYTES;
  for (const [index, { collection, scope }] of expansions.entries()) {
    const found = new Map<string, Buffer>();
    all.push(found);
    if (scope === null) continue;
    const texts = [...new Set(group.flatMap(({ named }) => idsOf(named[index])))];
    /** @returns true if the documents fit into the memory limit */
    const request = async (forms: readonly Form[]): Promise<boolean> => {
      const ids = forms.map(({ id }) => id);
      const names = Map.groupBy(forms, ({ shown }) => shown);
      const { documents, more } = await store.findMany(collection, ids, toDatabaseFilter(scope));
      for (const raw of documents) {
        const seen = await visibleDocumentBson(scope, raw, true);
        if (seen === null) continue;
        const text = encodeDocumentJson(seen);
        room -= text.length;
        if (room < 0) return false;
        turn -= text.length;
        if (turn < 0) {
          await otherWork();
          turn = TURN_BYTES;
        }
        for (const { named } of names.get(idText(decodeNamedFields(raw, [ID])['_id'])) ?? []) found.set(named, text);
      }
      return !more;
    };
    for (const some of inPieces(texts, IDS_AT_ONCE)) {
      if (!(await request(some.map((named) => ({ named, shown: named, id: idFromText(named) }))))) return null;
      const others = some.filter((named) => !found.has(named)).flatMap(otherForms);
      if (others.length > 0 && !(await request(others))) return null;
    }
  }
  return all;
}

/** One id that a text may represent. */
interface Form {
  readonly named: string;
  /** The text of such an id in a response: hex digits of either case match the same document. */
  readonly shown: string;
  readonly id: unknown;
}

/** Ids of other types are queried only if the usual type did not match, as with an id in a URL. */
function otherForms(named: string): Form[] {
  return idCandidates(named).map((id) => ({ named, shown: idText(id), id }));
}

function inPieces<T>(items: readonly T[], size: number): readonly T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

const ID = Buffer.from('_id');
const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');
const NULL = Buffer.from('null');
const END = Buffer.from('}}');

function textOf({ raw, named }: Source, found: readonly Found[], how: ExpansionOptions): Buffer[] {
  const { expansions, fields, meta, allowance } = how;
  const own = encodeDocumentJson(selectStoredFields(raw, fields), { meta });
  const before = own.length > 2 ? ',' : '';
  const shown: Buffer[] = [];
  for (const [index, { path }] of expansions.entries()) {
    shown.push(Buffer.from(`${index === 0 ? `${before}"_expanded":{` : ','}${JSON.stringify(clientPath(path))}:`));
    append(named[index], found[index], shown);
  }
  const bytes = shown.reduce((sum, { length }) => sum + length, 0);
  if (bytes > MOST.bytes) throw tooLarge(TOO_MANY_BYTES);
  allowance.take(bytes);
  // Between the fields of the document and its closing brace.
  return [own.subarray(0, -1), ...shown, END];
}

/** The replacement of an id, or of a list of ids. */
function append(named: Named | undefined, found: Found | undefined, to: Buffer[]): void {
  if (!isList(named)) {
    to.push((typeof named === 'string' && found?.get(named)) || NULL);
    return;
  }
  to.push(OPEN);
  for (const [index, one] of named.entries()) {
    if (index > 0) to.push(COMMA);
    append(one, found, to);
  }
  to.push(CLOSE);
}

/** Clients write ids as texts, other programs with their types: both reference the same document. */
function namedBy(value: unknown): Named {
  if (Array.isArray(value)) return value.map(namedBy);
  return value === undefined || value === null ? null : idText(value);
}

function idsOf(named: Named | undefined): readonly string[] {
  if (isList(named)) return named.flatMap(idsOf);
  return named === null || named === undefined ? [] : [named];
}

function isList(named: Named | undefined): named is readonly Named[] {
  return Array.isArray(named);
}

/**
 * The value at a path. In an array the path is followed in each element, in order, unless the next step is a position.
 */
function valueAt(value: unknown, [step, ...others]: readonly string[]): unknown {
  if (step === undefined || value === null || typeof value !== 'object') return step === undefined ? value : undefined;
  if (Array.isArray(value) && !isArrayPosition(step)) {
    return value.map((element: unknown) => valueAt(element, [step, ...others]));
  }
  return Object.hasOwn(value, step) ? valueAt(Reflect.get(value, step), others) : undefined;
}

const TOO_MANY_BYTES = `references others that have more than ${MOST.bytes / 1024 / 1024} MiB together`;

function tooLarge(what: string): MillraceError {
  return new MillraceError('response-too-large', `A document ${what}`, {
    hint: 'Read the referenced documents by their ids',
  });
}
