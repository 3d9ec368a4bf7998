/** The page Policies: which view, which policy, which cell of the matrix. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../../parts/search-text.ts';
import { shellRoute } from '../../../shell/route.tsx';

const VIEWS = ['list', 'matrix', 'tester', 'versions'] as const;

export type PoliciesView = (typeof VIEWS)[number];

export interface PoliciesSearch {
  /** The list by default. */
  readonly view?: PoliciesView | undefined;
  /** Id of the policy that is edited; `new` for one that is not saved yet. */
  readonly policy?: string | undefined;
  /** Another principal in the matrix: `user:<id>` or `key:<id>`. */
  readonly as?: string | undefined;
  /** What is explained or tried: principal, action, place. */
  readonly principal?: string | undefined;
  readonly action?: string | undefined;
  readonly place?: string | undefined;
  /** Number of the version that is open. */
  readonly version?: number | undefined;
}

/** Changes a part of the state of the page. */
export type ChangePlace = (next: PoliciesSearch, replace?: boolean) => void;

export const policiesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/policies',
  validateSearch: (given: Record<string, unknown>): PoliciesSearch => ({
    view: VIEWS.find((view) => view === given['view']),
    policy: textOf(given['policy']),
    as: textOf(given['as']),
    principal: textOf(given['principal']),
    action: textOf(given['action']),
    place: textOf(given['place']),
    version: typeof given['version'] === 'number' ? given['version'] : undefined,
  }),
  component: lazyRouteComponent(() => import('../page.tsx'), 'PoliciesPage'),
});
