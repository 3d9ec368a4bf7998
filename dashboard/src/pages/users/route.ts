/** The page Users: which accounts are listed, and which one is open. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-text.ts';
import { shellRoute } from '../../shell/route.tsx';

export interface UsersSearch {
  /** How a name begins. */
  readonly search?: string | undefined;
  readonly kind?: 'user' | 'owner' | undefined;
  /** Id of the last account of the page before. */
  readonly after?: string | undefined;
  /** Id of the account that is open. */
  readonly user?: string | undefined;
  /** A new account is being made. */
  readonly create?: true | undefined;
}

export const usersRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/users',
  validateSearch: ({ search, kind, after, user, create }: Record<string, unknown>): UsersSearch => ({
    search: textOf(search),
    kind: kind === 'user' || kind === 'owner' ? kind : undefined,
    after: textOf(after),
    user: textOf(user),
    create: create === true ? true : undefined,
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'UsersPage'),
});
