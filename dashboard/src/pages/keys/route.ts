/** The page Keys. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-param-text.ts';
import { shellRoute } from '../../shell/route.tsx';

export interface KeysSearch {
  /** Id of the last key of the previous page. */
  readonly cursor?: string | undefined;
  /** A new key is being created. */
  readonly create?: true | undefined;
}

export const keysRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/keys',
  validateSearch: ({ cursor, create }: Record<string, unknown>): KeysSearch => ({
    cursor: textOf(cursor),
    create: create === true ? true : undefined,
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'KeysPage'),
});
