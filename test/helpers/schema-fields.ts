/** The fields of an inferred JSON Schema by path, as a query names them. */
import { appendPathField } from '../../src/query/field-paths.ts';

export interface SchemaField {
  readonly path: string;
  readonly documents: number;
  readonly types: Readonly<Record<string, number>>;
  readonly format: string | undefined;
  readonly example: unknown;
  readonly reference: string | undefined;
}

type Schema = Readonly<Record<string, unknown>>;

export function fieldsOfSchema({ properties }: Schema): readonly SchemaField[] {
  return Object.entries(properties as Record<string, Schema>)
    .filter(([, schema]) => 'x-documents' in schema)
    .flatMap(([name, schema]) => fieldsAt(appendPathField('', name), schema));
}

function fieldsAt(path: string, schema: Schema): readonly SchemaField[] {
  const { format, examples, items, properties = {}, additionalProperties: map } = schema;
  const field: SchemaField = {
    path,
    documents: schema['x-documents'] as number,
    types: schema['x-types'] as Record<string, number>,
    format: format as string | undefined,
    example: (examples as readonly unknown[] | undefined)?.[0],
    reference: schema['x-reference'] as string | undefined,
  };
  return [
    field,
    ...(items === undefined ? [] : fieldsAt(`${path}[]`, items as Schema)),
    ...(typeof map === 'object' ? fieldsAt(`${path}.*`, map as Schema) : []),
    ...Object.entries(properties as Record<string, Schema>).flatMap(([name, inner]) =>
      fieldsAt(appendPathField(path, name), inner),
    ),
  ];
}
