/** Members that policies for a place can name: from what its documents look like, or fixed ones. */
import { useResource } from '../../../api/live.ts';

interface Shape {
  readonly members?: readonly { readonly path: string }[];
}

const FIXED: Readonly<Record<string, readonly string[]>> = {
  files: ['name', 'type', 'size', 'sha256', 'createdAt', 'createdBy', 'custom'],
  functions: ['plugin', 'name', 'method'],
  webhooks: [],
};

/** @param places of the policy; the first collection among them is looked at */
export function useMembers(places: readonly string[]): readonly string[] {
  const collection = places.find((place) => place !== '*' && FIXED[place] === undefined && /^\w[\w-]*$/.test(place));
  // Without a collection an answer that is there anyway is asked for.
  const path = collection === undefined ? '/admin/policies' : `/admin/collections/${collection}/shape`;
  const { data } = useResource<Shape>(path);
  const fixed = places.flatMap((place) => FIXED[place] ?? []);
  const seen = (data?.members ?? []).map(({ path: member }) => member.replaceAll('[]', ''));
  return [...new Set([...fixed, ...seen])].filter((member) => !member.includes('*') && !member.startsWith('_meta'));
}
