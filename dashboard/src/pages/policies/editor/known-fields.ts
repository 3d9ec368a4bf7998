/** Fields that policies for a resource can name: from its inferred schema, or fixed ones. */
import { useResource } from '../../../api/live.ts';
import { type CollectionSchema, schemaPath, shapeOf } from '../../data/parts/collection-schema.ts';

const FIXED: Readonly<Record<string, readonly string[]>> = {
  _files: ['name', 'type', 'size', 'sha256', 'createdAt', 'createdBy', 'metadata'],
  _functions: ['plugin', 'name', 'method'],
  _webhooks: [],
};

/** @param resources resources of the policy; the first collection among them is read */
export function useFields(resources: readonly string[]): readonly string[] {
  const collection = resources.find(
    (resource) => resource !== '*' && FIXED[resource] === undefined && /^[A-Za-z][\w-]*$/.test(resource),
  );
  // Without a collection, a response that is needed anyway is requested.
  const path = collection === undefined ? '/admin/policies' : schemaPath(collection);
  const { data } = useResource<Partial<CollectionSchema>>(path);
  const fixed = resources.flatMap((resource) => FIXED[resource] ?? []);
  const seen = fieldsOf(data).map(({ path: field }) => field.replaceAll('[]', ''));
  return [...new Set([...fixed, ...seen])].filter((field) => !field.includes('*') && !field.startsWith('_meta'));
}

function fieldsOf(data: Partial<CollectionSchema> | undefined) {
  if (data?.properties === undefined) return [];
  return shapeOf({ 'x-sampled': 0, 'x-complete': true, properties: data.properties }).fields;
}
