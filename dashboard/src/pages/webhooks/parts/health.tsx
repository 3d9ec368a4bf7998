/** How an endpoint and a delivery are, in a word. */
import { Badge } from '@mantine/core';
import type { Delivery, Endpoint } from './answers.ts';

const DISABLED = {
  owner: 'by a request',
  gone: 'its server answered 410',
  failing: 'nothing was delivered for 120 hours',
  principal: 'the account or key that made it has ended',
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
  if (health.fault !== null) {
    return { color: 'red', word: 'refused', title: `${health.fault}. Its deliveries wait.` };
  }
  if (health.breaker === 'open') {
    return {
      color: 'red',
      word: 'pausing',
      title: 'Too many calls failed. Calls wait for a moment, then one is tried.',
    };
  }
  if (health.breaker === 'half-open') {
    return { color: 'orange', word: 'trying again', title: 'After a pause, one delivery is tried as a probe.' };
  }
  if (health.failingSince !== null) {
    return { color: 'orange', word: 'failing', title: 'The last try failed. It is tried again by the schedule.' };
  }
  if (health.lastSuccessAt === null) {
    // Tests do not count: they say nothing about how events arrive.
    return { color: 'gray', word: 'no events yet', title: 'No event was sent yet. Tests do not count.' };
  }
  return { color: 'teal', word: 'healthy', title: 'The last try succeeded.' };
}

const COLOURS = { pending: 'blue', delivered: 'teal', dead: 'red', discarded: 'gray' } as const;

export function DeliveryBadge({ state }: { readonly state: Delivery['state'] }) {
  return (
    <Badge color={COLOURS[state]} variant="dot" miw="max-content">
      {state}
    </Badge>
  );
}

/** What came of a try: `204`, or why there was no good answer. */
export function outcomeOf(attempt: { readonly status: number | null; readonly error: string | null }): string {
  const { status, error } = attempt;
  if (error === null || error === 'status') return String(status ?? 'sent');
  return status === null ? error : `${status} ${error}`;
}
