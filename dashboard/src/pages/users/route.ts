/** The page Users: which users are listed, and which one is open. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-param-text.ts';
import { shellRoute } from '../../shell/route.tsx';

export interface UsersSearch {
  /** The start of a name. */
  readonly search?: string | undefined;
  readonly kind?: 'user' | 'admin' | undefined;
  /** Id of the last user of the previous page. */
  readonly cursor?: string | undefined;
  /** Id of the open user. */
  readonly user?: string | undefined;
  /** A new user is being created. */
  readonly create?: true | undefined;
}

export const usersRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/users',
  validateSearch: ({ search, kind, cursor, user, create }: Record<string, unknown>): UsersSearch => ({
    search: textOf(search),
    kind: kind === 'user' || kind === 'admin' ? kind : undefined,
    cursor: textOf(cursor),
    user: textOf(user),
    create: create === true ? true : undefined,
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'UsersPage'),
});
