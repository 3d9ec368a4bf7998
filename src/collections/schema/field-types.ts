/**
 * The fields of a collection's documents as JSON Schemas, inferred from a sample. They describe and do not bind: a
 * collection declares no schema, and the next document may differ. Pure.
 */

/** Maximum fields described for one collection, including nested ones. */
const MAX_FIELDS = 200;
/** Levels of objects and arrays that are described; deeper ones are just an object or an array. */
const MAX_DEPTH = 3;
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

interface Budget {
  fields: number;
}

/**
 * The schema of each top-level field by name, in the order of first appearance.
 * @param sample documents in the API's form
 * @param words what these documents are, in a sentence
 */
export function inferFieldSchemas(
  sample: readonly object[],
  words = 'newest documents',
): Readonly<Record<string, object>> {
  const budget = { fields: MAX_FIELDS };
  return mapFields(sample, budget, (values) => ({
    description: `In ${values.length} of the ${sample.length} ${words}.`,
    ...schemaOf(values, MAX_DEPTH, budget),
  }));
}

/** A schema that all the values match; `{}` (anything) if all of them are null. */
function schemaOf(values: readonly unknown[], depth: number, budget: Budget): object {
  const types = new Set<string>();
  const objects: object[] = [];
  const arrays: unknown[][] = [];
  let moments = true;
  for (const value of values) {
    if (Array.isArray(value)) arrays.push(value);
    else if (typeof value === 'object' && value !== null) objects.push(value);
    else if (typeof value === 'string') moments &&= isDateTime(value);
    types.add(jsonTypeOf(value));
  }
  // Every integer is a number.
  if (types.has('number')) types.delete('integer');
  if (types.size === 0 || (types.size === 1 && types.has('null'))) return {};
  const [only = '', ...others] = types;
  return {
    type: others.length === 0 ? only : [only, ...others],
    ...(types.has('string') && moments ? { format: 'date-time' } : {}),
    ...(arrays.length === 0 ? {} : { items: depth === 0 ? {} : schemaOf(arrays.flat(), depth - 1, budget) }),
    ...(objects.length === 0 ? {} : objectSchema(objects, depth, budget)),
  };
}

/** Whether a text is a date with a time in JSON's form (RFC 3339). */
export function isDateTime(text: string): boolean {
  return MOMENT.test(text);
}

/**
 * Whether objects at one path are maps (for example from language to name): none of their names occurs in most of them.
 * Then the names are values themselves, and the next document has others.
 * @param counts how many of the objects have each name
 * @param objects number of objects
 */
export function areMapObjects(counts: ReadonlyMap<string, number>, objects: number): boolean {
  if (counts.size < 2) return false;
  for (const count of counts.values()) if (count > objects / 2) return false;
  return true;
}

function objectSchema(objects: readonly object[], depth: number, budget: Budget): object {
  if (depth === 0) return { additionalProperties: true };
  const counts = new Map<string, number>();
  for (const name of objects.flatMap((object) => Object.keys(object))) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (areMapObjects(counts, objects.length)) {
    return { additionalProperties: schemaOf(objects.flatMap(Object.values), depth - 1, budget) };
  }
  const properties = mapFields(objects, budget, (values) => schemaOf(values, depth - 1, budget));
  return { properties, additionalProperties: true };
}

/** Calls a function with the values of each field of the objects, until the budget is used up. */
function mapFields<T>(
  objects: readonly object[],
  budget: Budget,
  make: (values: readonly unknown[]) => T,
): Readonly<Record<string, T>> {
  const values = new Map<string, unknown[]>();
  for (const object of objects) {
    for (const [name, value] of Object.entries(object)) {
      const known = values.get(name);
      if (known !== undefined) known.push(value);
      else if (budget.fields > 0) {
        budget.fields--;
        values.set(name, [value]);
      }
    }
  }
  return Object.fromEntries([...values].map(([name, found]) => [name, make(found)]));
}

/** The type of a value in JSON Schema. */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
