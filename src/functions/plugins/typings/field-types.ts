/** The TypeScript type of a field, from the schema inferred from a sample of documents. Pure. */
import { isPlainObject } from '../../../lib/plain-object.ts';

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  null: 'null',
};

/** The fields of an object as the lines of an interface, each optional: no document has to have them. */
export function formatFieldTypes(fields: Readonly<Record<string, unknown>>, indent: string): string {
  return Object.entries(fields)
    .map(([name, schema]) => `${indent}${quoteFieldName(name)}?: ${fieldText(schema, indent)};\n`)
    .join('');
}

/** A field name in an interface, quoted if necessary. */
export function quoteFieldName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/**
 * @param schema as `inferFieldSchemas` creates it
 * @param indent of the line that contains the type
 */
function fieldText(schema: unknown, indent: string): string {
  if (!isPlainObject(schema) || schema['type'] === undefined) return 'unknown';
  const types = [schema['type']].flat().map((type) => {
    if (type === 'array') return arrayText(schema['items'], indent);
    if (type === 'object') return objectText(schema, indent);
    return TYPES[String(type)] ?? 'unknown';
  });
  return [...new Set(types)].join(' | ');
}

function arrayText(items: unknown, indent: string): string {
  const text = fieldText(items, indent);
  return text.includes('|') ? `(${text})[]` : `${text}[]`;
}

/** An object without fields in the schema, or whose names are values, becomes an index signature. */
function objectText(schema: Readonly<Record<string, unknown>>, indent: string): string {
  const { properties, additionalProperties } = schema;
  if (isPlainObject(properties) && Object.keys(properties).length > 0) {
    return `{\n${formatFieldTypes(properties, `${indent}  `)}${indent}}`;
  }
  return `{ [name: string]: ${fieldText(additionalProperties, indent)} }`;
}
