/** Names that forms suggest: roles in policies, and resources of policies and keys. */
import { useResource } from './live.ts';

interface NamedRoles {
  readonly policies: readonly { readonly principals?: { readonly roles?: readonly string[] } }[];
}

/** Resources besides collections (docs/policies.md). */
const OTHER_RESOURCES = ['_files', '_functions', '_webhooks'];

/** Roles that policies mention, sorted by name. */
export function useKnownRoles(): readonly string[] {
  const { data } = useResource<NamedRoles>('/admin/policies', ['system.policy.*']);
  return [...new Set(data?.policies.flatMap(({ principals }) => principals?.roles ?? []))].sort();
}

/** Collections by name, then the other resources. */
export function useResources(): readonly string[] {
  const { data = [] } = useResource<readonly { readonly name: string }[]>('/admin/collections');
  return [...data.map(({ name }) => name), ...OTHER_RESOURCES];
}
