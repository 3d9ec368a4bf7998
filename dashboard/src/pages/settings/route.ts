/** The page Settings: the open section, and the open provider. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-param-text.ts';
import { shellRoute } from '../../shell/route.tsx';

const SETTINGS_TABS = ['sign-in', 'team', 'instance', 'emails', 'limits'] as const;

export type SettingsTab = (typeof SETTINGS_TABS)[number];

export interface SettingsSearch {
  readonly tab?: SettingsTab | undefined;
  /** Name of the open provider. */
  readonly provider?: string | undefined;
  /** The e-mail template that is open, such as `sign-in-link.en`. */
  readonly template?: string | undefined;
  /** A new provider is being added. */
  readonly create?: true | undefined;
}

export const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/settings',
  validateSearch: ({ tab, provider, template, create }: Record<string, unknown>): SettingsSearch => ({
    tab: SETTINGS_TABS.find((one) => one === tab),
    provider: textOf(provider),
    template: textOf(template),
    create: create === true ? true : undefined,
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'SettingsPage'),
});
