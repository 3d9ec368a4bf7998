/** Names that forms suggest: roles that policies speak of, and places that policies and keys can name. */
import { useResource } from './live.ts';

interface NamedRoles {
  readonly policies: readonly { readonly principals?: { readonly roles?: readonly string[] } }[];
}

/** Places beside collections (docs/policies.md). */
const OTHER_PLACES = ['files', 'functions', 'webhooks'];

/** Roles that policies name, by name. */
export function useKnownRoles(): readonly string[] {
  const { data } = useResource<NamedRoles>('/admin/policies', ['system.policy.*']);
  return [...new Set(data?.policies.flatMap(({ principals }) => principals?.roles ?? []))].sort();
}

/** Collections by name, then the other places. */
export function usePlaces(): readonly string[] {
  const { data = [] } = useResource<readonly { readonly name: string }[]>('/admin/collections');
  return [...data.map(({ name }) => name), ...OTHER_PLACES];
}
