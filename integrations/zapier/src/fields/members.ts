/**
 * The members of documents as a JSON Schema describes them, flattened to a list of those that people fill in or map. Pure.
 * Not here: fields of Zapier (input-fields.ts, output-fields.ts).
 */

/** The part of a JSON Schema that is read here. */
export interface MemberSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly readOnly?: boolean;
  readonly items?: MemberSchema;
  readonly properties?: Readonly<Record<string, MemberSchema>>;
}

export type Kind = 'string' | 'datetime' | 'integer' | 'number' | 'boolean' | 'json';

export interface Member {
  /** Names from the document down. */
  readonly path: readonly string[];
  /** `json` for objects and lists whose form is not known. */
  readonly kind: Kind;
  readonly isList: boolean;
  readonly isReadOnly: boolean;
}

/** Objects within objects that are still flattened. */
const MAX_DEPTH = 3;
const MAX_MEMBERS = 200;

/** The members of documents with this schema, in its order. */
export function membersOf(schema: MemberSchema): readonly Member[] {
  return within(schema, [], false).slice(0, MAX_MEMBERS);
}

function within(schema: MemberSchema, path: readonly string[], isReadOnly: boolean): readonly Member[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const at = [...path, name];
    const readOnly = isReadOnly || member.readOnly === true;
    const isObject = typesOf(member).includes('object');
    if (isObject && member.properties !== undefined && at.length < MAX_DEPTH) return within(member, at, readOnly);
    const isList = typesOf(member).join() === 'array';
    const kind = kindOf(isList ? (member.items ?? {}) : member);
    return { path: at, kind, isList: isList && kind !== 'json', isReadOnly: readOnly };
  });
}

/** Types of a value, other than null. */
function typesOf({ type = [] }: MemberSchema): readonly string[] {
  return [type].flat().filter((one) => one !== 'null');
}

function kindOf(schema: MemberSchema): Kind {
  const types = typesOf(schema);
  if (types.includes('object') || types.includes('array')) return 'json';
  const [only, other] = types;
  if (other !== undefined) return 'string';
  if (only === 'integer' || only === 'number' || only === 'boolean') return only;
  return schema.format === 'date-time' ? 'datetime' : 'string';
}

/** A path in words: `releaseDate` is "Release Date", `address.city` is "Address City". */
export function labelOf(path: readonly string[]): string {
  return path
    .flatMap((name) => name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[\s_-]+/))
    .filter((word) => word !== '')
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join(' ');
}
