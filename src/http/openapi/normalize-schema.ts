/**
 * Writes a JSON Schema in the forms that generators of clients know: every schema has a type, null is one more type, and
 * a map has `additionalProperties`. What it accepts stays the same. Pure.
 */
import { isPlainObject } from '../../lib/plain-object.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Keywords whose value is a schema, or schemas by name, or a list of schemas. */
const ONE = new Set(['items', 'additionalProperties', 'not', 'propertyNames']);
const NAMED = new Set(['properties', 'patternProperties']);
const LISTED = new Set(['anyOf', 'oneOf', 'allOf']);
/** The pattern of `Type.Record(Type.String(), …)`: any name. */
const ANY_NAME = '^.*$';
/** The keywords that say something of one type only. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['format', 'pattern', 'minLength', 'maxLength'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  array: ['items', 'minItems', 'maxItems', 'uniqueItems'],
  object: ['properties', 'required', 'additionalProperties', 'propertyNames', 'minProperties', 'maxProperties'],
};

const TYPED_KEYWORDS = new Set(Object.values(OF_TYPE).flat());

/** @param inner writes a schema inside of this one */
export function normalizeSchema(schema: object, inner: (schema: object) => object): object {
  const written: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (ONE.has(keyword) && isPlainObject(value)) written[keyword] = inner(value);
    else if (NAMED.has(keyword) && isPlainObject(value)) written[keyword] = mapValues(value, inner);
    else if (LISTED.has(keyword) && Array.isArray(value)) written[keyword] = value.map(inner);
    else written[keyword] = value;
  }
  return specific(branches(typed(mapped(constant(single(written))))));
}

/** All of one schema is this schema. */
function single(schema: Schema): Schema {
  const { allOf, ...rest } = schema;
  const [only, ...others] = Array.isArray(allOf) ? allOf : [];
  return isPlainObject(only) && others.length === 0 && Object.keys(rest).length === 0 ? only : schema;
}

/** `const` is an enumeration of one value, which more generators know; those for Java cannot enumerate booleans. */
function constant({ const: value, ...rest }: Schema): Schema {
  if (typeof value === 'boolean') return { description: `Always \`${value}\`.`, ...rest, type: 'boolean' };
  return value === undefined ? rest : { ...rest, enum: [value] };
}

function mapped({ patternProperties, ...rest }: Schema): Schema {
  if (!isPlainObject(patternProperties)) return rest;
  const { [ANY_NAME]: value, ...others } = patternProperties;
  const kept = Object.keys(others).length === 0 ? {} : { patternProperties: others };
  return { ...rest, ...kept, ...(value === undefined ? {} : { additionalProperties: value }) };
}

function typed(schema: Schema): Schema {
  if (schema['type'] !== undefined) return schema;
  if (Array.isArray(schema['enum'])) {
    const types = [...new Set(schema['enum'].map((value) => (value === null ? 'null' : typeof value)))];
    return { type: types.length === 1 ? types[0] : types, ...schema };
  }
  return schema;
}

/** The branches of a schema that allows several types, each with one type; a value or null is one schema of two types. */
function branches(schema: Schema): Schema {
  const { anyOf, ...rest } = schema;
  if (Array.isArray(anyOf)) {
    const flat = anyOf
      .filter(isPlainObject)
      .flatMap((one) => (Object.keys(one).join() === 'anyOf' ? listed(one) : [one]));
    const [only, ...others] = flat.filter((one) => one['type'] !== 'null');
    const type = only?.['type'];
    if (others.length > 0 || only === undefined || flat.length === 1 || typeof type !== 'string') {
      return { ...rest, anyOf: flat };
    }
    const values = Array.isArray(only['enum']) ? { enum: [...only['enum'], null] } : {};
    return { ...only, ...rest, type: [type, 'null'], ...values };
  }
  const { type, ...more } = rest;
  if (!Array.isArray(type) || type.filter((one) => one !== 'null').length < 2) return schema;
  const shared = Object.entries(more).filter(([keyword]) => !TYPED_KEYWORDS.has(keyword));
  const ofType = (one: string) =>
    Object.fromEntries((OF_TYPE[one] ?? []).flatMap((keyword) => (keyword in more ? [[keyword, more[keyword]]] : [])));
  return { ...Object.fromEntries(shared), anyOf: type.map((one: string) => specific({ type: one, ...ofType(one) })) };
}

/**
 * What a schema leaves open and generators want to know: the items of a list, and the size of numbers. Many languages take
 * 32 bits, into which not all numbers of JavaScript fit.
 */
function specific(schema: Schema): Schema {
  const [type, ...others] = [schema['type']].flat().filter((one) => one !== 'null');
  if (others.length > 0 || schema['format'] !== undefined) return schema;
  if (type === 'array' && schema['items'] === undefined) return { ...schema, items: {} };
  if (type === 'number') return { ...schema, format: 'double' };
  const isSmall = typeof schema['maximum'] === 'number' && schema['maximum'] < 2 ** 31;
  return type === 'integer' && !isSmall ? { ...schema, format: 'int64' } : schema;
}

/** The branches of a schema that is nothing but these. */
function listed({ anyOf }: Schema): readonly Schema[] {
  return Array.isArray(anyOf) ? anyOf.filter(isPlainObject) : [];
}

function mapValues(schemas: Schema, inner: (schema: object) => object): Schema {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, one]) => [name, isPlainObject(one) ? inner(one) : one]),
  );
}
