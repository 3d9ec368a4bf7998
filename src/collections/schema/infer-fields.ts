/**
 * The fields of documents by path, counted in a sample, for people who look at a collection. Pure, and a few
 * milliseconds at a time.
 */
import type { Document } from 'mongodb';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import { idText, NEW_ID_PATTERN } from '../../database/json/ids.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { SERVER_FIELDS } from '../../lib/server-fields.ts';
import { BSON_KIND, bsonKindOf, type EmbeddedDocument, isEmbeddedDocument } from '../../query/evaluate/bson-order.ts';
import { appendPathField } from '../../query/field-paths.ts';

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** Elements of one array that are visited. */
const MAX_ELEMENTS = 100;
/** Characters of an example. */
const MAX_EXAMPLE = 100;
/** Different values of one field that are kept to find what they reference. */
const MAX_IDS = 8;

/** What the sampled documents have at one path. */
export interface FieldShape {
  /** Names as in a path of a query. `[]` represents the elements of an array, `*` names that are values themselves. */
  readonly path: string;
  /** Number of sampled documents with this path. */
  readonly documents: number;
  /** Kinds of values by their names in the query language, the most frequent first. */
  readonly types: readonly { readonly type: string; readonly documents: number }[];
  /** `date-time` if all its strings are times, as JSON has them. */
  readonly format?: 'date-time';
  /** One of its values as clients see it; long texts are truncated. None for objects, arrays and null. */
  readonly example?: unknown;
}

/** The step from a parent to a field: a named field, the elements of an array, or every name of a map. */
export type FieldPathStep = { readonly name: string } | 'items' | 'map';

/** A member with some of its values that may be ids of documents. */
export interface InferredField {
  readonly shape: FieldShape;
  readonly ids: readonly string[];
  /** Types of the values as JSON has them; every integer is a number. */
  readonly json: ReadonlySet<string>;
  /** Null for a field of the document itself. */
  readonly above: InferredField | null;
  readonly step: FieldPathStep;
}

export interface InferredFields {
  readonly fields: readonly InferredField[];
  /** False if there are more fields, or the time was up. */
  readonly complete: boolean;
}

export interface InferenceLimits {
  /** When to stop, as a value of `performance.now`. */
  readonly until: number;
  /** Maximum fields, including nested ones. */
  readonly fields: number;
  /** Levels of fields that are visited. */
  readonly depth: number;
}

/** A value at the current path, and the index of its document in the sample. */
interface Found<T = unknown> {
  readonly value: T;
  readonly document: number;
}

/** The fields of stored documents, in the order of first appearance. `_meta` is left out: it is the same everywhere. */
export async function inferFields(sample: readonly Uint8Array[], limits: InferenceLimits): Promise<InferredFields> {
  const walk = new Walk(limits);
  const documents = await mapCooperatively(sample, decodeDocument);
  const rows = documents.map((value, document) => ({ value, document }));
  const withId = rows.filter(({ value }) => Object.hasOwn(value, '_id'));
  if (withId.length > 0) await walk.ids(withId.map(({ value, document }) => ({ value: value['_id'], document })));
  await walk.into(
    rows.map(({ value, document }) => ({ value: ownFields(value), document })),
    null,
    limits.depth,
  );
  await walk.finish();
  return walk;
}

function ownFields(document: Document): EmbeddedDocument {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !SERVER_FIELDS.has(name)));
}

class Walk implements InferredFields {
  readonly fields: InferredField[] = [];
  complete = true;
  readonly #limits: InferenceLimits;
  /** Level by level, so that the limit on fields leaves out the deepest ones. */
  readonly #deeper: (() => Promise<void>)[] = [];

  constructor(limits: InferenceLimits) {
    this.#limits = limits;
  }

  /** The ids of the documents themselves. An id may be a document too; it is shown as one text. */
  async ids(found: readonly Found[]): Promise<void> {
    const { shape } = await described('id', null, { name: 'id' }, found);
    const example = cut(idText(found[0]?.value));
    const json = new Set(['string']);
    this.fields.push({ shape: { ...shape, example }, ids: [], json, above: null, step: { name: 'id' } });
  }

  /** @param above the member whose values the objects are; null for the documents, which are never taken for maps */
  async into(objects: readonly Found<EmbeddedDocument>[], above: InferredField | null, depth: number): Promise<void> {
    const byName = new Map<string, Found[]>();
    const all: Found[] = [];
    await mapCooperatively(objects, ({ value: object, document }) => {
      for (const [name, value] of Object.entries(object)) {
        const found = { value, document };
        const known = byName.get(name);
        if (known === undefined) byName.set(name, [found]);
        else known.push(found);
        all.push(found);
      }
    });
    const counts = new Map([...byName].map(([name, found]) => [name, found.length]));
    if (above !== null && areMapObjects(counts, objects.length)) await this.#at(above, 'map', all, depth);
    else for (const [name, found] of byName) await this.#at(above, { name }, found, depth);
  }

  async #at(above: InferredField | null, step: FieldPathStep, found: readonly Found[], depth: number): Promise<void> {
    if (this.fields.length >= this.#limits.fields || performance.now() > this.#limits.until) {
      this.complete = false;
      return;
    }
    const field = await described(pathOf(above?.shape.path ?? '', step), above, step, found);
    this.fields.push(field);
    const objects = found.filter((one): one is Found<EmbeddedDocument> => isEmbeddedDocument(one.value));
    const elements = found.flatMap(({ value, document }) =>
      Array.isArray(value)
        ? value.slice(0, MAX_ELEMENTS).map((element: unknown) => ({ value: element, document }))
        : [],
    );
    if (objects.length + elements.length > 0 && depth === 1) this.complete = false;
    if (depth === 1) return;
    if (elements.length > 0) this.#deeper.push(() => this.#at(field, 'items', elements, depth - 1));
    if (objects.length > 0) this.#deeper.push(() => this.into(objects, field, depth - 1));
  }

  /** Visits what is inside the fields that were visited. */
  async finish(): Promise<void> {
    for (const visit of this.#deeper) await visit();
  }
}

/** Values of one document are adjacent, so a document is counted at the first of them. */
class Count {
  documents = 0;
  #last = -1;

  add(document: number): void {
    if (document === this.#last) return;
    this.#last = document;
    this.documents += 1;
  }
}

function pathOf(above: string, step: FieldPathStep): string {
  if (step === 'items') return `${above}[]`;
  return step === 'map' ? `${above}.*` : appendPathField(above, step.name);
}

async function described(
  path: string,
  above: InferredField | null,
  step: FieldPathStep,
  found: readonly Found[],
): Promise<InferredField> {
  const count = new Count();
  const types = new Map<string, Count>();
  const ids = new Set<string>();
  const json = new Set<string>();
  let example: unknown;
  let moments = true;
  await mapCooperatively(found, ({ value, document }) => {
    const type = typeOf(value);
    const ofType = types.get(type) ?? new Count();
    types.set(type, ofType);
    count.add(document);
    ofType.add(document);
    if (type === 'object' || type === 'array' || type === 'null') {
      json.add(type);
      return;
    }
    const wire = valueToWire(value);
    json.add(jsonTypeOf(wire));
    if (typeof wire === 'string') moments &&= isDateTime(wire);
    example ??= wire;
    const id = ids.size < MAX_IDS ? possibleId(type, value) : null;
    if (id !== null) ids.add(id);
  });
  const sorted = [...types].sort(([, a], [, b]) => b.documents - a.documents);
  const shape: FieldShape = {
    path,
    documents: count.documents,
    types: sorted.map(([type, { documents }]) => ({ type, documents })),
    ...(json.has('string') && moments ? { format: 'date-time' } : {}),
    ...(example === undefined ? {} : { example: cut(example) }),
  };
  // Every integer is a number.
  if (json.has('number')) json.delete('integer');
  return { shape, ids: [...ids], json, above, step };
}

const NAME_OF_KIND: ReadonlyMap<number, string> = new Map(
  Object.entries(BSON_KIND).map(([name, kind]) => [kind, name]),
);

/** The name of a value's kind; a missing value, which another program may store, counts as null. */
function typeOf(value: unknown): string {
  return value === undefined ? 'null' : (NAME_OF_KIND.get(bsonKindOf(value)) ?? 'null');
}

/** The value as text like the id of a document; null if no client could have chosen such an id. */
function possibleId(type: string, value: unknown): string | null {
  if (type !== 'objectId' && type !== 'string' && type !== 'number' && type !== 'binary') return null;
  const text = idText(value);
  return NEW_ID_PATTERN.test(text) ? text : null;
}

function cut(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_EXAMPLE) return value;
  return `${value.slice(0, MAX_EXAMPLE).toWellFormed()}…`;
}

/** Whether a text is a date with a time in JSON's form (RFC 3339). */
function isDateTime(text: string): boolean {
  return MOMENT.test(text);
}

/**
 * Whether objects at one path are maps (for example from language to name): none of their names occurs in most of them.
 * Then the names are values themselves, and the next document has others.
 * @param counts how many of the objects have each name
 * @param objects number of objects
 */
function areMapObjects(counts: ReadonlyMap<string, number>, objects: number): boolean {
  if (counts.size < 2) return false;
  for (const count of counts.values()) if (count > objects / 2) return false;
  return true;
}

/** The type of a value in JSON Schema. */
function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
