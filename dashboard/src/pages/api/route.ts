/** The page API. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../shell/route.tsx';

export const apiRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/api',
  component: lazyRouteComponent(() => import('./page.tsx'), 'ApiPage'),
});
