/** The page Files, with its state in the URL. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-param-text.ts';
import { shellRoute } from '../../shell/route.tsx';

export interface FilesSearch {
  /** A part of the name. */
  readonly name?: string | undefined;
  /** The start of the type: `image/`. */
  readonly type?: string | undefined;
  /** The open file. */
  readonly file?: string | undefined;
}

export const filesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/files',
  validateSearch: ({ name, type, file }: Record<string, unknown>): FilesSearch => ({
    name: textOf(name),
    type: textOf(type),
    file: textOf(file),
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'FilesPage'),
});
