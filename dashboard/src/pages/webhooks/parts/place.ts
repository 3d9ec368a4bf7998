/** Where the person is on the page Webhooks, and how to go elsewhere on it. */
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { WebhooksSearch } from './route.ts';

const route = getRouteApi('/webhooks');

export interface WebhooksPlace {
  readonly search: WebhooksSearch;
  /** Changes these members of the address and keeps the others. */
  readonly go: (changes: WebhooksSearch) => void;
}

export function useWebhooksPlace(): WebhooksPlace {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return { search, go: (changes) => void navigate({ search: (before) => ({ ...before, ...changes }) }) };
}

/** Asks again for everything of webhooks, after something was done. */
export function useWebhooksAgain(): () => Promise<void> {
  const cache = useQueryClient();
  return () =>
    cache.invalidateQueries({
      predicate: ({ queryKey: [path] }) => typeof path === 'string' && path.startsWith('/webhooks/'),
    });
}
