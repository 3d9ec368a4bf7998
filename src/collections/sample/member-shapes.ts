/**
 * The members of documents by path, counted in a sample: for people who look at a collection. Pure, and a few milliseconds at a
 * time. Not here: the sample (shapes.ts), and schemas for the contract (member-types.ts).
 */
import type { Document } from 'mongodb';
import { readStored } from '../../database/bson/stored.ts';
import { idText, NEW_ID } from '../../database/json/ids.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { mapInTurns } from '../../kernel/concurrency/pauses.ts';
import { SERVER_MEMBERS } from '../../kernel/server-members.ts';
import { isMembers, KIND, kindOf, type Members } from '../../query/evaluate/order.ts';
import { withMember } from '../../query/paths.ts';
import { areMaps, isMoment } from './member-types.ts';

/** Members that are told of one collection, those inside of others included. */
const MAX_MEMBERS = 300;
/** Levels of objects and arrays that are looked into. */
const MAX_DEPTH = 8;
/** Elements of one array that are looked at. */
const MAX_ELEMENTS = 100;
/** Characters of an example. */
const MAX_EXAMPLE = 100;
/** Different values of one member that are kept to look for what they name. */
const MAX_IDS = 8;

/** What the sampled documents have at one path. */
export interface MemberShape {
  /** Names as in a path of a query. `[]` stands for the elements of an array, `*` for names that are values themselves. */
  readonly path: string;
  /** In how many of the sampled documents it is. */
  readonly documents: number;
  /** Kinds of values by their names in the query language, the most frequent first. */
  readonly types: readonly { readonly type: string; readonly documents: number }[];
  /** `date-time` if all its texts are times. */
  readonly format?: 'date-time';
  /** One of its values as clients see it; long texts are cut. None for objects and arrays, and for null. */
  readonly example?: unknown;
}

/** A member with some of its values that may be ids of documents. */
export interface FoundMember {
  readonly shape: MemberShape;
  readonly ids: readonly string[];
}

export interface FoundMembers {
  readonly members: readonly FoundMember[];
  /** False if there are more members, or the time was over. */
  readonly complete: boolean;
}

/** A value at the path that is looked at, and the number of its document in the sample. */
interface Found<T = unknown> {
  readonly value: T;
  readonly document: number;
}

/**
 * The members of stored documents, in the order of first appearance. `_meta` is left out: it is the same everywhere.
 * @param until when to stop, as `performance.now` tells the time
 */
export async function membersOf(sample: readonly Uint8Array[], until: number): Promise<FoundMembers> {
  const walk = new Walk(until);
  const documents = await mapInTurns(sample, readStored);
  const rows = documents.map((value, document) => ({ value, document }));
  const withId = rows.filter(({ value }) => Object.hasOwn(value, '_id'));
  if (withId.length > 0) await walk.ids(withId.map(({ value, document }) => ({ value: value['_id'], document })));
  await walk.into(
    rows.map(({ value, document }) => ({ value: ownMembers(value), document })),
    '',
    MAX_DEPTH,
  );
  return walk;
}

function ownMembers(document: Document): Members {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !SERVER_MEMBERS.has(name)));
}

class Walk implements FoundMembers {
  readonly members: FoundMember[] = [];
  complete = true;
  readonly #until: number;

  constructor(until: number) {
    this.#until = until;
  }

  /** The ids of the documents themselves. An id may be a document too; it is shown as one text. */
  async ids(found: readonly Found[]): Promise<void> {
    const { shape } = await described('id', found);
    this.members.push({ shape: { ...shape, example: cut(idText(found[0]?.value)) }, ids: [] });
  }

  /** @param above the path of the objects; empty for the documents, which are never taken for maps */
  async into(objects: readonly Found<Members>[], above: string, depth: number): Promise<void> {
    const byName = new Map<string, Found[]>();
    const all: Found[] = [];
    await mapInTurns(objects, ({ value: object, document }) => {
      for (const [name, value] of Object.entries(object)) {
        const found = { value, document };
        const known = byName.get(name);
        if (known === undefined) byName.set(name, [found]);
        else known.push(found);
        all.push(found);
      }
    });
    const counts = new Map([...byName].map(([name, found]) => [name, found.length]));
    if (above !== '' && areMaps(counts, objects.length)) await this.#at(`${above}.*`, all, depth);
    else for (const [name, found] of byName) await this.#at(withMember(above, name), found, depth);
  }

  async #at(path: string, found: readonly Found[], depth: number): Promise<void> {
    if (this.members.length >= MAX_MEMBERS || performance.now() > this.#until) {
      this.complete = false;
      return;
    }
    this.members.push(await described(path, found));
    const objects = found.filter((one): one is Found<Members> => isMembers(one.value));
    const elements = found.flatMap(({ value, document }) =>
      Array.isArray(value)
        ? value.slice(0, MAX_ELEMENTS).map((element: unknown) => ({ value: element, document }))
        : [],
    );
    if (objects.length + elements.length > 0 && depth === 1) this.complete = false;
    if (depth === 1) return;
    if (elements.length > 0) await this.#at(`${path}[]`, elements, depth - 1);
    if (objects.length > 0) await this.into(objects, path, depth - 1);
  }
}

/** Values of one document stand next to each other, so a document is counted when the first of them comes. */
class Count {
  documents = 0;
  #last = -1;

  add(document: number): void {
    if (document === this.#last) return;
    this.#last = document;
    this.documents += 1;
  }
}

async function described(path: string, found: readonly Found[]): Promise<FoundMember> {
  const count = new Count();
  const types = new Map<string, Count>();
  const ids = new Set<string>();
  let example: unknown;
  let moments = true;
  await mapInTurns(found, ({ value, document }) => {
    const type = typeOf(value);
    const ofType = types.get(type) ?? new Count();
    types.set(type, ofType);
    count.add(document);
    ofType.add(document);
    if (typeof value === 'string') moments &&= isMoment(value);
    if (type === 'object' || type === 'array' || type === 'null') return;
    example ??= valueToWire(value);
    const id = ids.size < MAX_IDS ? possibleId(type, value) : null;
    if (id !== null) ids.add(id);
  });
  const sorted = [...types].sort(([, a], [, b]) => b.documents - a.documents);
  const shape: MemberShape = {
    path,
    documents: count.documents,
    types: sorted.map(([type, { documents }]) => ({ type, documents })),
    ...(types.has('string') && moments ? { format: 'date-time' } : {}),
    ...(example === undefined ? {} : { example: cut(example) }),
  };
  return { shape, ids: [...ids] };
}

const NAME_OF_KIND: ReadonlyMap<number, string> = new Map(Object.entries(KIND).map(([name, kind]) => [kind, name]));

/** The name of a value's kind; a missing value, such as another program may store, counts as null. */
function typeOf(value: unknown): string {
  return value === undefined ? 'null' : (NAME_OF_KIND.get(kindOf(value)) ?? 'null');
}

/** The value as the id of a document would be shown; null if no client could have chosen such an id. */
function possibleId(type: string, value: unknown): string | null {
  if (type !== 'objectId' && type !== 'string' && type !== 'number' && type !== 'binary') return null;
  const text = idText(value);
  return NEW_ID.test(text) ? text : null;
}

function cut(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_EXAMPLE) return value;
  return `${value.slice(0, MAX_EXAMPLE).toWellFormed()}…`;
}
