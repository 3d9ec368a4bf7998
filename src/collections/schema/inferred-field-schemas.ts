/** Inferred fields as JSON Schemas. They describe and do not bind: the next document may differ. Pure. */
import type { CollectionName } from '../../database/parse-collection-name.ts';
import type { InferredField } from './infer-fields.ts';

type Schema = Record<string, unknown>;

/**
 * The schema of each top-level field by name.
 * @param fields each after its parent
 * @param sample what was sampled, such as `20 newest documents`
 * @param references the collections that fields reference, by path; null for schemas without counts and examples
 */
export function toFieldSchemas(
  fields: readonly InferredField[],
  sample: string,
  references: ReadonlyMap<string, CollectionName> | null,
): Schema {
  const root: Schema = {};
  const schemas = new Map<InferredField, Schema>();
  for (const property of fields) {
    const { above, step } = property;
    const schema = schemaOf(property, sample, references);
    schemas.set(property, schema);
    const parent = above === null ? null : (schemas.get(above) ?? {});
    if (parent === null) Object.defineProperty(root, typeof step === 'object' ? step.name : step, field(schema));
    else if (step === 'items') parent['items'] = schema;
    else if (step === 'map') parent['additionalProperties'] = schema;
    else {
      const properties = parent['properties'] ?? {};
      parent['properties'] = properties;
      Object.defineProperty(properties, step.name, field(schema));
    }
  }
  return root;
}

/** Also for a field that is named `__proto__`. */
function field(value: Schema): PropertyDescriptor {
  return { value, enumerable: true, configurable: true, writable: true };
}

function schemaOf(
  { shape, json, above }: InferredField,
  sample: string,
  references: ReadonlyMap<string, CollectionName> | null,
): Schema {
  const { path, documents, types, format, example } = shape;
  const [only, ...others] = json;
  const isNull = only === undefined || (only === 'null' && others.length === 0);
  const description = path === 'id' ? 'Names the document in its collection.' : `In ${documents} of the ${sample}.`;
  const reference = references?.get(path);
  return {
    ...(above === null && { description }),
    ...(!isNull && { type: others.length === 0 ? only : [only, ...others] }),
    ...(format !== undefined && { format }),
    ...(references !== null && {
      ...(example !== undefined && { examples: [example] }),
      'x-documents': documents,
      'x-types': Object.fromEntries(types.map((one) => [one.type, one.documents])),
      ...(reference !== undefined && { 'x-reference': reference }),
    }),
    ...(json.has('array') && { items: {} }),
    ...(json.has('object') && { additionalProperties: true }),
  };
}
