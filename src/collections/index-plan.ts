/**
 * Indexes as clients write them, `{"fields":["a","-b.c"],"unique":true}`: read and checked, compared with what the
 * database has. Pure. Not here: building and dropping them (indexes.ts).
 */
import Type, { type Static } from 'typebox';
import { Value } from 'typebox/value';
import { wirePath } from '../database/json/to-wire.ts';
import { MillraceError } from '../kernel/errors.ts';
import { askedPath } from '../query/paths.ts';

/** Indexes of one collection, and fields of one index. Each index costs every write. */
const MAX_INDEXES = 32;
const MAX_FIELDS = 8;

/** One index: its fields in order, descending ones behind a `-`. */
export const INDEX = Type.Object(
  {
    fields: Type.Array(Type.String({ minLength: 1, maxLength: 1_025 }), {
      minItems: 1,
      maxItems: MAX_FIELDS,
      uniqueItems: true,
      description: 'Paths in order; a leading `-` means descending.',
    }),
    unique: Type.Optional(Type.Boolean({ description: 'No two documents may have the same values.', default: false })),
    sparse: Type.Optional(
      Type.Boolean({ description: 'Leaves out documents that have none of the fields.', default: false }),
    ),
  },
  { additionalProperties: false },
);

/** All indexes that a collection is to have beside the one by `id`. */
export const INDEXES = Type.Array(INDEX, { maxItems: MAX_INDEXES });

/** An index in the wire's form, nothing left out. */
export type Index = Readonly<Required<Static<typeof INDEX>>>;

/** An index as the database lists it, as far as it can be said in the wire's form. */
export interface ExistingIndex {
  readonly name: string;
  readonly index: Index;
}

/** What turns one list into another. */
export interface IndexPlan {
  readonly create: readonly Index[];
  /** Names in the database. */
  readonly drop: readonly string[];
}

/**
 * Reads a wanted list.
 * @throws MillraceError `invalid-index`, naming the place
 */
export function parseIndexes(body: unknown): readonly Index[] {
  if (!Value.Check(INDEXES, body)) {
    // What is no member is told twice; the other time says where and nothing else.
    const [fault] = Value.Errors(INDEXES, body).filter(({ keyword }) => keyword !== 'boolean');
    const { instancePath: place = '', message = 'is not valid', params = {} } = fault ?? {};
    const others: unknown = Reflect.get(params, 'additionalProperties');
    const named = Array.isArray(others) ? `: ${others.join(', ').slice(0, 80)}` : '';
    throw invalid(place, `The list of indexes${place === '' ? '' : `, at ${place},`} ${message}${named}`);
  }
  const seen = new Set<string>();
  return body.map(({ fields, unique = false, sparse = false }, at) => {
    const index = { fields, unique, sparse };
    checkFields(fields, `/${at}/fields`);
    if (seen.has(signatureOf(index))) throw invalid(`/${at}`, 'The index is listed twice');
    seen.add(signatureOf(index));
    return index;
  });
}

function checkFields(fields: readonly string[], pointer: string): void {
  const paths = fields.map((field) => {
    try {
      return askedPath(field.replace(/^-/, ''));
    } catch (error) {
      throw invalid(pointer, error instanceof Error ? error.message : String(error));
    }
  });
  if (new Set(paths).size < paths.length) throw invalid(pointer, 'A field is named twice in one index');
  if (paths[0] === '_id') throw invalid(pointer, 'Documents are indexed by id already, and an index begins elsewhere');
  // JavaScript puts such names before all others, and the order of fields is what an index is.
  const number = paths.find((path) => /^\d+$/.test(path));
  if (number !== undefined) throw invalid(pointer, `The field '${number}' cannot be indexed: its name is a number`);
}

/** Compares what is wanted with what exists. */
export function planIndexes(wanted: readonly Index[], existing: readonly ExistingIndex[]): IndexPlan {
  const have = new Set(existing.map(({ index }) => signatureOf(index)));
  const keep = new Set(wanted.map(signatureOf));
  return {
    create: wanted.filter((index) => !have.has(signatureOf(index))),
    drop: existing.filter(({ index }) => !keep.has(signatureOf(index))).map(({ name }) => name),
  };
}

/** Two indexes with the same signature are the same index, whatever it is called in the database. */
function signatureOf({ fields, unique, sparse }: Index): string {
  return JSON.stringify([fields, unique, sparse]);
}

/** The key of an index in the database's words. */
export function keyOf({ fields }: Index): Map<string, 1 | -1> {
  return new Map(
    fields.map((field) => (field.startsWith('-') ? [askedPath(field.slice(1)), -1] : [askedPath(field), 1])),
  );
}

/**
 * The names that new indexes get: the database's own way, with what tells indexes of the same fields apart. The field
 * `a_1_b` is written like the fields `a` and `b`, so the later one of the two is numbered.
 * @param existing names that are taken
 */
export function namesOf(indexes: readonly Index[], existing: readonly string[]): readonly string[] {
  const taken = new Set(existing);
  return indexes.map((index) => {
    const first = nameOf(index);
    let name = first;
    for (let number = 2; taken.has(name); number++) name = `${first}_${number}`;
    taken.add(name);
    return name;
  });
}

function nameOf(index: Index): string {
  const key = [...keyOf(index)].map(([path, direction]) => `${path}_${direction}`).join('_');
  return `${key}${index.unique ? '_unique' : ''}${index.sparse ? '_sparse' : ''}`;
}

/** Keys that this form cannot say: wildcards (`$**`, `a.$**`), and names that JavaScript would put before all others. */
const NOT_A_FIELD = /^\d+$|(?:^|\.)\$\*\*$/;
const KNOWN_MEMBERS: ReadonlySet<string> = new Set(['v', 'key', 'name', 'ns', 'unique', 'sparse', 'background']);

/**
 * An index that the database lists; null for the one by `_id` and for kinds that others made and this form cannot say
 * (text, geographic, expiring, partial, …), which stay as they are.
 */
export function fromDatabase(listed: Readonly<Record<string, unknown>>): ExistingIndex | null {
  const { key, name, unique, sparse } = listed;
  if (typeof name !== 'string' || name === '_id_' || typeof key !== 'object' || key === null) return null;
  if (Object.keys(listed).some((member) => !KNOWN_MEMBERS.has(member))) return null;
  const fields: string[] = [];
  for (const [path, direction] of Object.entries(key)) {
    if ((direction !== 1 && direction !== -1) || NOT_A_FIELD.test(path)) return null;
    fields.push(`${direction === 1 ? '' : '-'}${wirePath(path)}`);
  }
  return { name, index: { fields, unique: unique === true, sparse: sparse === true } };
}

function invalid(pointer: string, detail: string): MillraceError {
  return new MillraceError('invalid-index', detail, {
    hint: 'Send a list such as [{"fields":["author","-createdAt"],"unique":true}]',
    faults: [{ pointer, code: 'invalid-index', detail }],
  });
}
