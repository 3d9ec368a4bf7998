/** The state of an endpoint and of a delivery, in a word. */
import { Badge } from '@mantine/core';
import type { Delivery, Endpoint } from './webhook-api-types.ts';

const DISABLED = {
  manual: 'by a request',
  gone: 'its server answered 410',
  failing: 'nothing was delivered for 120 hours',
  principal: 'the user or key that created it no longer exists',
} as const;

export function HealthBadge({ endpoint }: { readonly endpoint: Endpoint }) {
  const { color, word, title } = healthOf(endpoint);
  return (
    <Badge color={color} variant="dot" title={title} miw="max-content">
      {word}
    </Badge>
  );
}

/** The same in a sentence. */
export function healthOf({ enabled, disabledReason, health }: Endpoint) {
  if (!enabled) {
    const why = disabledReason === null ? '' : `, ${DISABLED[disabledReason]}`;
    return { color: 'gray', word: 'disabled', title: `Disabled${why}. Nothing is sent.` };
  }
  if (health.error !== null) {
    return { color: 'red', word: 'rejected', title: `${health.error}. Its deliveries wait.` };
  }
  if (health.breaker === 'open') {
    return {
      color: 'red',
      word: 'paused',
      title: 'Too many requests failed. After a pause, one delivery is sent as a probe.',
    };
  }
  if (health.breaker === 'half-open') {
    return { color: 'orange', word: 'probing', title: 'One delivery is being sent as a probe.' };
  }
  if (health.failingSince !== null) {
    return { color: 'orange', word: 'failing', title: 'The last attempt failed. It is retried on schedule.' };
  }
  if (health.lastSuccessAt === null) {
    // Tests do not count: they do not show how events arrive.
    return { color: 'gray', word: 'no events yet', title: 'No events were sent yet. Test events do not count.' };
  }
  return { color: 'teal', word: 'healthy', title: 'The last attempt succeeded.' };
}

const COLOURS = { pending: 'blue', succeeded: 'teal', failed: 'red', canceled: 'gray' } as const;

export function DeliveryBadge({ state }: { readonly state: Delivery['state'] }) {
  return (
    <Badge color={COLOURS[state]} variant="dot" miw="max-content">
      {state}
    </Badge>
  );
}

/** The outcome of an attempt: `204`, or why it failed. */
export function outcomeOf(attempt: { readonly status: number | null; readonly error: string | null }): string {
  const { status, error } = attempt;
  if (error === null || error === 'status') return String(status ?? 'sent');
  return status === null ? error : `${status} ${error}`;
}
