/** The page API, with its state in the URL. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-param-text.ts';
import { shellRoute } from '../../shell/route.tsx';
import { LANGUAGES, type Language, REQUESTS, type RequestName } from './requests.ts';

export interface ApiSearch {
  readonly collection?: string | undefined;
  /** The selected request; the list without it. */
  readonly request?: RequestName | undefined;
  /** The selected language; a command without it. */
  readonly language?: Language | undefined;
}

export const apiRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/api',
  validateSearch: ({ collection, request, language }: Record<string, unknown>): ApiSearch => ({
    collection: textOf(collection),
    request: REQUESTS.find(({ name }) => name === request)?.name,
    language: LANGUAGES.find(({ value }) => value === language)?.value,
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'ApiPage'),
});
