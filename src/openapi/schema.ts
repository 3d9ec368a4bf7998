/**
 * JSON Schemas of the OpenAPI document: named schemas, which are written once under `components` and referenced by
 * operations, and a few common forms. Pure.
 */
import Type, { type TSchema } from 'typebox';

/** Holds the name of a schema. A symbol, so that neither JSON nor a schema checker sees it. */
const NAME = Symbol('name in the OpenAPI document');

/** A schema with a name in the OpenAPI document. */
export interface NamedSchema {
  readonly [NAME]: string;
}

/**
 * Names a schema in the OpenAPI document. The schema itself stays unchanged.
 * @param name unique in the document; generated clients name their type after it
 */
export function namedSchema(name: string, schema: object): NamedSchema {
  return Object.freeze({ ...schema, [NAME]: name });
}

/** The name of a schema; undefined for any other value. */
export function schemaName(schema: object): string | undefined {
  return NAME in schema && typeof schema[NAME] === 'string' ? schema[NAME] : undefined;
}

/** A JSON array of `items`. */
export function arraySchema(items: object): object {
  return { type: 'array', items };
}

/** A value of `schema`, or null. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A time as RFC 3339 text. */
export const DATE_TIME_SCHEMA = Type.String({ format: 'date-time' });

/** `If-Match` → `IfMatch`, `order_lines` → `OrderLines`. */
export function pascalCase(text: string): string {
  return text.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]|$)/g, (_, first: string) => first.toUpperCase());
}
