/** The fields of documents from a JSON Schema, flattened to a list for input and mapping. Pure. */

/** The supported part of JSON Schema. */
export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly readOnly?: boolean;
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
}

export type Kind = 'string' | 'datetime' | 'integer' | 'number' | 'boolean' | 'json';

export interface Field {
  /** Names from the document down. */
  readonly path: readonly string[];
  /** `json` for objects and lists of unknown structure. */
  readonly kind: Kind;
  readonly isList: boolean;
  readonly isReadOnly: boolean;
}

/** Maximum depth of flattened objects. */
const MAX_DEPTH = 3;
const MAX_FIELDS = 200;

/** The fields of documents with this schema, in its order. */
export function fieldsOf(schema: FieldSchema): readonly Field[] {
  return within(schema, [], false).slice(0, MAX_FIELDS);
}

function within(schema: FieldSchema, path: readonly string[], isReadOnly: boolean): readonly Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = [...path, name];
    const readOnly = isReadOnly || field.readOnly === true;
    const isObject = typesOf(field).includes('object');
    if (isObject && field.properties !== undefined && at.length < MAX_DEPTH) return within(field, at, readOnly);
    const isList = typesOf(field).join() === 'array';
    const kind = kindOf(isList ? (field.items ?? {}) : field);
    return { path: at, kind, isList: isList && kind !== 'json', isReadOnly: readOnly };
  });
}

/** Types of a value, other than null. */
function typesOf({ type = [] }: FieldSchema): readonly string[] {
  return [type].flat().filter((one) => one !== 'null');
}

function kindOf(schema: FieldSchema): Kind {
  const types = typesOf(schema);
  if (types.includes('object') || types.includes('array')) return 'json';
  const [only, other] = types;
  if (other !== undefined) return 'string';
  if (only === 'integer' || only === 'number' || only === 'boolean') return only;
  return schema.format === 'date-time' ? 'datetime' : 'string';
}

/** A path as words: `releaseDate` is "Release Date", `address.city` is "Address City". */
export function labelOf(path: readonly string[]): string {
  return path
    .flatMap((name) => name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[\s_-]+/))
    .filter((word) => word !== '')
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join(' ');
}
