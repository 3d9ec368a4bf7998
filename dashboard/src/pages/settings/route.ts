/** The page Settings: which of its parts is shown, and which provider is open. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../parts/search-text.ts';
import { shellRoute } from '../../shell/route.tsx';

const SETTINGS_TABS = ['sign-in', 'team', 'installation', 'letters', 'limits'] as const;

export type SettingsTab = (typeof SETTINGS_TABS)[number];

export interface SettingsSearch {
  readonly tab?: SettingsTab | undefined;
  /** Name of the provider that is open. */
  readonly provider?: string | undefined;
  /** The letter that is open, such as `sign-in-link.en`. */
  readonly letter?: string | undefined;
  /** A new provider is being made. */
  readonly create?: true | undefined;
}

export const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/settings',
  validateSearch: ({ tab, provider, letter, create }: Record<string, unknown>): SettingsSearch => ({
    tab: SETTINGS_TABS.find((one) => one === tab),
    provider: textOf(provider),
    letter: textOf(letter),
    create: create === true ? true : undefined,
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'SettingsPage'),
});
