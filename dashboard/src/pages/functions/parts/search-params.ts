/** The state of the function pages in the URL, and the invalidation of their data. */
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { FunctionsSearch, PluginSearch } from './route.ts';

/** Plugins and figures of their functions follow these. */
export const OF_PLUGINS = ['system.plugin.*', 'system.function.*', 'system.run.*'];

const list = getRouteApi('/functions');
const one = getRouteApi('/functions/$plugin');

export function useFunctionsSearch() {
  const search = list.useSearch();
  const navigate = list.useNavigate();
  const go = (changes: FunctionsSearch) => void navigate({ search: (before) => ({ ...before, ...changes }) });
  return { search, go };
}

export function usePluginSearch() {
  const { plugin } = one.useParams();
  const search = one.useSearch();
  const navigate = one.useNavigate();
  const go = (changes: PluginSearch) => void navigate({ search: (before) => ({ ...before, ...changes }) });
  return { plugin, search, go };
}

/** Requests everything about functions again, after an action. */
export function useFunctionsAgain(): () => Promise<void> {
  const cache = useQueryClient();
  return () =>
    cache.invalidateQueries({
      predicate: ({ queryKey: [path] }) => typeof path === 'string' && /^\/admin\/(?:plugins|runs|jobs)/.test(path),
    });
}
