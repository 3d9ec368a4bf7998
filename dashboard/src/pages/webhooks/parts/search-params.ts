/** The state of the page Webhooks in the URL, and navigation on it. */
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { WebhooksSearch } from './route.ts';

const route = getRouteApi('/webhooks');

export interface WebhooksSearchParams {
  readonly search: WebhooksSearch;
  /** Changes these fields of the URL state and keeps the others. */
  readonly go: (changes: WebhooksSearch) => void;
}

export function useWebhooksSearch(): WebhooksSearchParams {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return { search, go: (changes) => void navigate({ search: (before) => ({ ...before, ...changes }) }) };
}

/** Requests everything about webhooks again, after an action. */
export function useWebhooksAgain(): () => Promise<void> {
  const cache = useQueryClient();
  return () =>
    cache.invalidateQueries({
      predicate: ({ queryKey: [path] }) => typeof path === 'string' && path.startsWith('/webhooks/'),
    });
}
