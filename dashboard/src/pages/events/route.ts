/** The page Events, with its state in the URL. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-param-text.ts';
import { shellRoute } from '../../shell/route.tsx';

export interface EventsSearch {
  /** Types separated by commas, `*` matches anything; by default all. */
  readonly types?: string | undefined;
  /** A filter of the event, in the language of lists. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined;
  /** The position after which events are shown; by default new ones. */
  readonly since?: string | undefined;
  /** The open event. */
  readonly event?: string | undefined;
}

export const eventsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/events',
  validateSearch: ({ types, filter, since, event }: Record<string, unknown>): EventsSearch => ({
    types: textOf(types),
    filter: typeof filter === 'object' && filter !== null ? (filter as Record<string, unknown>) : undefined,
    since: textOf(since),
    event: textOf(event),
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'EventsPage'),
});
