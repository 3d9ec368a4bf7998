/** The page Webhooks. Its URL contains the open endpoint, deliveries and dialog. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { textOf } from '../../../parts/search-param-text.ts';
import { shellRoute } from '../../../shell/route.tsx';

const DIALOGS = ['new', 'edit', 'test', 'rotate', 'recover', 'replay', 'delete'] as const;

export type WebhookDialog = (typeof DIALOGS)[number];

export interface WebhooksSearch {
  /** Id of the open endpoint. */
  readonly endpoint?: string | undefined;
  /** Deliveries in this state, of events of this type, from this cursor on. */
  readonly state?: string | undefined;
  readonly type?: string | undefined;
  readonly cursor?: string | undefined;
  /** Id of the open delivery. */
  readonly delivery?: string | undefined;
  readonly dialog?: WebhookDialog | undefined;
  /** Id of the replay with visible progress. */
  readonly replay?: string | undefined;
}

export const webhooksRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/webhooks',
  validateSearch: (search: Record<string, unknown>): WebhooksSearch => ({
    endpoint: textOf(search['endpoint']),
    state: textOf(search['state']),
    type: textOf(search['type']),
    cursor: textOf(search['cursor']),
    delivery: textOf(search['delivery']),
    dialog: DIALOGS.find((one) => one === search['dialog']),
    replay: textOf(search['replay']),
  }),
  component: lazyRouteComponent(() => import('../page.tsx'), 'WebhooksPage'),
});
