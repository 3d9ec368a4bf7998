/** The page Webhooks. Its address says which endpoint, which deliveries and which dialog are open. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../../shell/route.tsx';

const DIALOGS = ['new', 'edit', 'test', 'rotate', 'recover', 'replay', 'delete'] as const;

export type WebhookDialog = (typeof DIALOGS)[number];

export interface WebhooksSearch {
  /** Id of the endpoint that is open. */
  readonly endpoint?: string | undefined;
  /** Deliveries in this state, of events of this type, beginning at this cursor. */
  readonly state?: string | undefined;
  readonly type?: string | undefined;
  readonly cursor?: string | undefined;
  /** Id of the delivery that is open. */
  readonly delivery?: string | undefined;
  readonly dialog?: WebhookDialog | undefined;
  /** Id of the replay whose progress is shown. */
  readonly replay?: string | undefined;
}

export const webhooksRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/webhooks',
  validateSearch: (search: Record<string, unknown>): WebhooksSearch => ({
    endpoint: text(search['endpoint']),
    state: text(search['state']),
    type: text(search['type']),
    cursor: text(search['cursor']),
    delivery: text(search['delivery']),
    dialog: DIALOGS.find((one) => one === search['dialog']),
    replay: text(search['replay']),
  }),
  component: lazyRouteComponent(() => import('../page.tsx'), 'WebhooksPage'),
});

function text(value: unknown): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : String(value);
}
