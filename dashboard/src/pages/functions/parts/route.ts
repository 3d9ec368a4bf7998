/** The pages Functions and one plugin. Their URLs contain the open tab, file, version and run. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../../parts/search-param-text.ts';
import { shellRoute } from '../../../shell/route.tsx';

/** Filter of runs, on both pages. */
export interface RunsSearch {
  readonly function?: string | undefined;
  readonly state?: string | undefined;
  readonly event?: string | undefined;
  readonly cursor?: string | undefined;
  /** Id of the open run. */
  readonly run?: string | undefined;
}

export interface FunctionsSearch extends RunsSearch {
  readonly tab?: 'plugins' | 'runs' | 'jobs' | undefined;
  readonly dialog?: 'new' | undefined;
}

const PLUGIN_TABS = ['code', 'try', 'runs', 'versions', 'secrets'] as const;

export type PluginTab = (typeof PLUGIN_TABS)[number];

export interface PluginSearch extends RunsSearch {
  readonly tab?: PluginTab | undefined;
  readonly file?: string | undefined;
  /** The version that is compared with the active one. */
  readonly version?: string | undefined;
  readonly dialog?: 'delete' | undefined;
}

export const functionsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/functions',
  validateSearch: (search: Record<string, unknown>): FunctionsSearch => ({
    ...runsSearch(search),
    tab: (['plugins', 'runs', 'jobs'] as const).find((one) => one === search['tab']),
    dialog: search['dialog'] === 'new' ? 'new' : undefined,
  }),
  component: lazyRouteComponent(() => import('../page.tsx'), 'FunctionsPage'),
});

export const pluginRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/functions/$plugin',
  validateSearch: (search: Record<string, unknown>): PluginSearch => ({
    ...runsSearch(search),
    tab: PLUGIN_TABS.find((one) => one === search['tab']),
    file: textOf(search['file']),
    version: textOf(search['version']),
    dialog: search['dialog'] === 'delete' ? 'delete' : undefined,
  }),
  component: lazyRouteComponent(() => import('../plugin-page.tsx'), 'PluginPage'),
});

function runsSearch(search: Record<string, unknown>): RunsSearch {
  const [fn, state, event, cursor, run] = ['function', 'state', 'event', 'cursor', 'run'].map((name) =>
    textOf(search[name]),
  );
  return { function: fn, state, event, cursor, run };
}
