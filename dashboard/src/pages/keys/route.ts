/** The page Keys. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-text.ts';
import { shellRoute } from '../../shell/route.tsx';

export interface KeysSearch {
  /** Id of the last key of the page before. */
  readonly after?: string | undefined;
  /** A new key is being made. */
  readonly create?: true | undefined;
}

export const keysRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/keys',
  validateSearch: ({ after, create }: Record<string, unknown>): KeysSearch => ({
    after: textOf(after),
    create: create === true ? true : undefined,
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'KeysPage'),
});
