/** The page Integrations. Its URL contains the selected service. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../shell/route.tsx';

export const SERVICES = ['zapier', 'n8n', 'other'] as const;

export type ServiceName = (typeof SERVICES)[number];

export interface IntegrationsSearch {
  /** Zapier by default. */
  readonly service?: ServiceName | undefined;
}

export const integrationsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/integrations',
  validateSearch: ({ service }: Record<string, unknown>): IntegrationsSearch => ({
    service: SERVICES.find((one) => one === service),
  }),
  component: lazyRouteComponent(() => import('./page.tsx'), 'IntegrationsPage'),
});
