/** The page Data: all collections, and the documents of one. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../shell/route.tsx';
import { readSearch } from './parts/search.ts';

export const collectionsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/data',
  component: lazyRouteComponent(() => import('./collections-page.tsx'), 'CollectionsPage'),
});

export const collectionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/data/$collection',
  validateSearch: readSearch,
  component: lazyRouteComponent(() => import('./collection-page.tsx'), 'CollectionPage'),
});
