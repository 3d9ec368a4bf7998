/**
 * The type of a member in TypeScript, from the schema that a sample of documents gave it. Pure. Not here: making the schema
 * (collections/sample/member-types.ts).
 */
import { isPlain } from '../../../kernel/objects.ts';

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  null: 'null',
};

/** The members of an object as the lines of an interface, each optional: no document has to have them. */
export function membersText(members: Readonly<Record<string, unknown>>, indent: string): string {
  return Object.entries(members)
    .map(([name, schema]) => `${indent}${nameText(name)}?: ${memberText(schema, indent)};\n`)
    .join('');
}

/** A name as it stands in an interface: quoted where it must be. */
export function nameText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/**
 * @param schema as `memberSchemas` makes it
 * @param indent before the line in which the type stands
 */
function memberText(schema: unknown, indent: string): string {
  if (!isPlain(schema) || schema['type'] === undefined) return 'unknown';
  const types = [schema['type']].flat().map((type) => {
    if (type === 'array') return arrayText(schema['items'], indent);
    if (type === 'object') return objectText(schema, indent);
    return TYPES[String(type)] ?? 'unknown';
  });
  return [...new Set(types)].join(' | ');
}

function arrayText(items: unknown, indent: string): string {
  const text = memberText(items, indent);
  return text.includes('|') ? `(${text})[]` : `${text}[]`;
}

/** An object without members in the schema, or with names that are values themselves, is one with any names. */
function objectText(schema: Readonly<Record<string, unknown>>, indent: string): string {
  const { properties, additionalProperties } = schema;
  if (isPlain(properties) && Object.keys(properties).length > 0) {
    return `{\n${membersText(properties, `${indent}  `)}${indent}}`;
  }
  return `{ [name: string]: ${memberText(additionalProperties, indent)} }`;
}
