/** The inferred JSON Schema of a collection, and its fields by path. */
import { useMemo } from 'react';
import { useResource } from '../../../api/live.ts';
import { pathOfName } from '../../../parts/field-path.ts';
import type { Shape, ShapeField } from './columns.ts';

interface FieldSchema {
  readonly format?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly additionalProperties?: boolean | FieldSchema;
  readonly 'x-documents'?: number;
  readonly 'x-types'?: Readonly<Record<string, number>>;
  readonly 'x-reference'?: string;
}

/** The response of `GET /api/{collection}/_schema`. */
export interface CollectionSchema {
  readonly 'x-sampled': number;
  readonly 'x-complete': boolean;
  readonly properties: Readonly<Record<string, FieldSchema>>;
}

export function schemaPath(collection: string): string {
  return `/api/${encodeURIComponent(collection)}/_schema`;
}

/** The fields of a collection as its documents have them; `data` is undefined until they are known. */
export function useShape(collection: string) {
  const { data: schema, refetch } = useResource<CollectionSchema>(schemaPath(collection));
  const data = useMemo(() => (schema === undefined ? undefined : shapeOf(schema)), [schema]);
  return { data, refetch };
}

export function shapeOf({ properties, 'x-sampled': sampled, 'x-complete': complete }: CollectionSchema): Shape {
  const fields = Object.entries(properties).flatMap(([name, schema]) =>
    schema['x-documents'] === undefined ? [] : fieldsOf(pathOfName(name), schema),
  );
  return { sampled, complete, fields };
}

function fieldsOf(path: string, schema: FieldSchema): readonly ShapeField[] {
  const { format, examples, properties = {}, items, additionalProperties } = schema;
  const field: ShapeField = {
    path,
    documents: schema['x-documents'] ?? 0,
    types: Object.entries(schema['x-types'] ?? {}).map(([type, documents]) => ({ type, documents })),
    ...(format === undefined ? {} : { format }),
    ...(examples === undefined ? {} : { example: examples[0] }),
    ...(schema['x-reference'] === undefined ? {} : { reference: { collection: schema['x-reference'] } }),
  };
  return [
    field,
    ...(items === undefined ? [] : fieldsOf(`${path}[]`, items)),
    ...(typeof additionalProperties === 'object' ? fieldsOf(`${path}.*`, additionalProperties) : []),
    ...Object.entries(properties).flatMap(([name, inner]) => fieldsOf(pathBelow(path, name), inner)),
  ];
}

function pathBelow(above: string, name: string): string {
  const part = pathOfName(name);
  return part.startsWith('[') ? `${above}${part}` : `${above}.${part}`;
}
