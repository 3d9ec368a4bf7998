/**
 * Indexes as clients write them, `{"fields":["a","-b.c"],"unique":true}`: parsed, checked and compared with those of
 * the database. Pure.
 */
import Type, { type Static } from 'typebox';
import { Check, Errors } from 'typebox/schema';
import { publicFieldPath } from '../database/parse-collection-name.ts';
import { MillraceError } from '../lib/errors.ts';
import { isEscapedPath, parseQueryPath } from '../query/field-paths.ts';

/** Maximum indexes of one collection, and fields of one index. Each index costs every write. */
const MAX_INDEXES = 32;
const MAX_FIELDS = 8;

/** Additional fields of listed indexes. They are ignored as input, so that a list can be sent back as it was read. */
const USE = {
  sizeBytes: Type.Optional(
    Type.Union([Type.Integer(), Type.Null()], { description: 'Only in lists: its size; null where it is unknown.' }),
  ),
  uses: Type.Optional(
    Type.Union([Type.Integer(), Type.Null()], { description: 'Only in lists: how often it was used since `since`.' }),
  ),
  since: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description:
        'Only in lists: when the database began to count its uses, at its start or when the index was created.',
    }),
  ),
};

/** One index: its fields in order; a leading `-` means descending. */
export const INDEX_SCHEMA = Type.Object(
  {
    fields: Type.Array(Type.String({ minLength: 1, maxLength: 1_025 }), {
      minItems: 1,
      maxItems: MAX_FIELDS,
      uniqueItems: true,
      description: 'Paths in order; a leading `-` means descending. An `id` at the end is added automatically.',
    }),
    unique: Type.Optional(Type.Boolean({ description: 'No two documents may have the same values.', default: false })),
    sparse: Type.Optional(
      Type.Boolean({ description: 'Leaves out documents that have none of the fields.', default: false }),
    ),
    ...USE,
  },
  { additionalProperties: false },
);

/** All indexes that a collection should have, besides the one by `id`. */
export const INDEX_LIST_SCHEMA = Type.Array(INDEX_SCHEMA, { maxItems: MAX_INDEXES });

/** An index in the API's form, with every field. */
export type Index = Readonly<Required<Pick<Static<typeof INDEX_SCHEMA>, 'fields' | 'unique' | 'sparse'>>>;

/** An index as the database lists it, as far as the API can express it. */
export interface ExistingIndex {
  readonly name: string;
  readonly index: Index;
}

/** The changes from one list to another. */
export interface IndexPlan {
  readonly create: readonly Index[];
  /** Index names in the database. */
  readonly drop: readonly string[];
}

/**
 * Parses a list of indexes.
 * @throws MillraceError `invalid-index`, with the position
 */
export function parseIndexes(body: unknown): readonly Index[] {
  if (!Check(INDEX_LIST_SCHEMA, body)) {
    // The validator reports an unknown field twice; the report with the keyword `boolean` says only where, so it is
    // left out.
    const [issue] = Errors(INDEX_LIST_SCHEMA, body)[1].filter(({ keyword }) => keyword !== 'boolean');
    const { instancePath: pointer = '', message = 'is not valid', params = {} } = issue ?? {};
    const others: unknown = Reflect.get(params, 'additionalProperties');
    const named = Array.isArray(others) ? `: ${others.join(', ').slice(0, 80)}` : '';
    throw invalid(pointer, `The list of indexes${pointer === '' ? '' : `, at ${pointer},`} ${message}${named}`);
  }
  const seen = new Set<string>();
  return body.map(({ fields, unique = false, sparse = false }, at) => {
    checkFields(fields, `/${at}/fields`);
    const index = withoutLastId({ fields, unique, sparse });
    if (seen.has(signatureOf(index))) throw invalid(`/${at}`, 'The index is listed twice');
    seen.add(signatureOf(index));
    return index;
  });
}

function checkFields(fields: readonly string[], pointer: string): void {
  const paths = fields.map((field) => {
    try {
      const path = parseQueryPath(field.replace(/^-/, ''));
      if (!isEscapedPath(path)) return path;
      throw new TypeError(
        `'${field}' cannot be indexed: the database has no index for a name that has a dot, begins with $ or is empty`,
      );
    } catch (error) {
      throw invalid(pointer, error instanceof Error ? error.message : String(error));
    }
  });
  if (new Set(paths).size < paths.length) throw invalid(pointer, 'A field occurs twice in one index');
  if (paths[0] === '_id')
    throw invalid(pointer, 'Documents are indexed by id already; an index must begin with another field');
  // JavaScript orders such names before all others, but the order of the fields in an index matters.
  const number = paths.find((path) => /^\d+$/.test(path));
  if (number !== undefined) throw invalid(pointer, `The field '${number}' cannot be indexed: its name is a number`);
}

/** Compares the requested indexes with the existing ones. */
export function planIndexes(requested: readonly Index[], existing: readonly ExistingIndex[]): IndexPlan {
  const have = new Set(existing.map(({ index }) => signatureOf(index)));
  const keep = new Set(requested.map(signatureOf));
  return {
    create: requested.filter((index) => !have.has(signatureOf(index))),
    drop: existing.filter(({ index }) => !keep.has(signatureOf(index))).map(({ name }) => name),
  };
}

/** Each index once: other programs may have created one with the id at its end, and one without. */
export function removeDuplicateIndexes<T extends ExistingIndex>(existing: readonly T[]): readonly T[] {
  return [...new Map(existing.map((one) => [signatureOf(one.index), one])).values()];
}

/** Two indexes with the same signature are the same index, whatever their names in the database. */
function signatureOf({ fields, unique, sparse }: Index): string {
  return JSON.stringify([fields, unique, sparse]);
}

/**
 * The key of an index for the database. It ends in the id, as the sort of every page does, so pages through documents
 * with equal keys are read in index order.
 */
export function toIndexKeyPattern(index: Index): Map<string, 1 | -1> {
  const key = new Map<string, 1 | -1>(
    index.fields.map((field) =>
      field.startsWith('-') ? [parseQueryPath(field.slice(1)), -1] : [parseQueryPath(field), 1],
    ),
  );
  if (endsInId(index) && !key.has('_id')) key.set('_id', 1);
  return key;
}

/**
 * True if the index gets the id at its end. A unique index does not: with the id, no two documents would ever be equal.
 * A sparse one does not: every document has an id, so none would be left out.
 */
function endsInId({ unique, sparse }: Omit<Index, 'fields'>): boolean {
  return !unique && !sparse;
}

/** The index as listed: an id at its end is left out, whether it is there or not. */
function withoutLastId(index: Index): Index {
  const isSaid = endsInId(index) && index.fields.length > 1 && index.fields.at(-1) === 'id';
  return isSaid ? { ...index, fields: index.fields.slice(0, -1) } : index;
}

/**
 * The names of new indexes: the database's own scheme, with a suffix that distinguishes indexes of the same fields. The
 * field `a_1_b` is written like the fields `a` and `b`, so the later one of the two is numbered.
 * @param existing names in use
 */
export function generateIndexNames(indexes: readonly Index[], existing: readonly string[]): readonly string[] {
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
  const key = [...toIndexKeyPattern(index)].map(([path, direction]) => `${path}_${direction}`).join('_');
  return `${key}${index.unique ? '_unique' : ''}${index.sparse ? '_sparse' : ''}`;
}

/**
 * Keys that this form cannot express: wildcards (`$**`, `a.$**`), and names that JavaScript would put before all
 * others.
 */
const NOT_A_FIELD = /^\d+$|(?:^|\.)\$\*\*$/;
const KNOWN_FIELDS: ReadonlySet<string> = new Set(['v', 'key', 'name', 'ns', 'unique', 'sparse', 'background']);

/**
 * An index that the database lists. Null for the one by `_id`, and for kinds that this form cannot express (text,
 * geographic, expiring, partial, …): other programs created those, and they stay unchanged.
 */
export function parseDatabaseIndex(described: Readonly<Record<string, unknown>>): ExistingIndex | null {
  const { key, name, unique, sparse } = described;
  if (typeof name !== 'string' || name === '_id_' || typeof key !== 'object' || key === null) return null;
  if (Object.keys(described).some((field) => !KNOWN_FIELDS.has(field))) return null;
  const fields: string[] = [];
  for (const [path, direction] of Object.entries(key)) {
    if ((direction !== 1 && direction !== -1) || NOT_A_FIELD.test(path)) return null;
    fields.push(`${direction === 1 ? '' : '-'}${publicFieldPath(path)}`);
  }
  return { name, index: withoutLastId({ fields, unique: unique === true, sparse: sparse === true }) };
}

function invalid(pointer: string, detail: string): MillraceError {
  return new MillraceError('invalid-index', detail, {
    hint: 'Send a list such as [{"fields":["author","-createdAt"],"unique":true}]',
    issues: [{ pointer, code: 'invalid-index', detail }],
  });
}
