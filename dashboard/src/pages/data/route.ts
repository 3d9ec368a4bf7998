/** The page Data: all collections, and the documents of one. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../shell/route.tsx';
import { readSearch } from './parts/search.ts';

export const collectionsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/data',
  validateSearch: ({ create }: Record<string, unknown>): { readonly create?: true | undefined } => ({
    create: create === true ? true : undefined,
  }),
  component: lazyRouteComponent(() => import('./collections-page.tsx'), 'CollectionsPage'),
});

export const collectionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/data/$collection',
  validateSearch: readSearch,
  component: lazyRouteComponent(() => import('./collection-page.tsx'), 'CollectionPage'),
});
