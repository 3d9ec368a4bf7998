/** The page Policies: the view, the policy, the cell of the matrix. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../../parts/search-param-text.ts';
import { shellRoute } from '../../../shell/route.tsx';

const VIEWS = ['list', 'matrix', 'tester', 'versions'] as const;

export type PoliciesView = (typeof VIEWS)[number];

export interface PoliciesSearch {
  /** The list by default. */
  readonly view?: PoliciesView | undefined;
  /** Id of the edited policy; `new` for one that is not saved yet. */
  readonly policy?: string | undefined;
  /** Another principal in the matrix: `user:<id>` or `key:<id>`. */
  readonly as?: string | undefined;
  /** What is explained or tested: principal, action, resource. */
  readonly principal?: string | undefined;
  readonly action?: string | undefined;
  readonly resource?: string | undefined;
  /** Number of the open version. */
  readonly version?: number | undefined;
}

/** Changes part of the state of the page. */
export type ChangeSearch = (next: PoliciesSearch, replace?: boolean) => void;

export const policiesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/policies',
  validateSearch: (given: Record<string, unknown>): PoliciesSearch => ({
    view: VIEWS.find((view) => view === given['view']),
    policy: textOf(given['policy']),
    as: textOf(given['as']),
    principal: textOf(given['principal']),
    action: textOf(given['action']),
    resource: textOf(given['resource']),
    version: typeof given['version'] === 'number' ? given['version'] : undefined,
  }),
  component: lazyRouteComponent(() => import('../page.tsx'), 'PoliciesPage'),
});
