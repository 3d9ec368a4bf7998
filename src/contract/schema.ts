/**
 * JSON Schemas of the contract: giving one a name, so that it is written once under `components` and operations refer
 * to it; and the few forms that many schemas share. Pure. Not here: what a single route takes and answers (next to that
 * route).
 */
import Type, { type TSchema } from 'typebox';

/** Holds the name of a shape. A symbol, so that neither JSON nor a schema checker sees it. */
const NAME = Symbol('name in the contract');

/** A schema with a name of its own in the contract. */
export interface Shape {
  readonly [NAME]: string;
}

/**
 * Gives a schema its name in the contract. The schema itself stays as it is.
 * @param name unique in the contract; generated clients name their type after it
 */
export function shape(name: string, schema: object): Shape {
  return Object.freeze({ ...schema, [NAME]: name });
}

/** The name of a shape; undefined for any other value. */
export function shapeName(schema: object): string | undefined {
  return NAME in schema && typeof schema[NAME] === 'string' ? schema[NAME] : undefined;
}

/** A JSON array of `items`. */
export function listOf(items: object): object {
  return { type: 'array', items };
}

/** A value of `schema`, or null. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A moment as RFC 3339 text. */
export const TIME = Type.String({ format: 'date-time' });
