/** Endpoints and deliveries for tests of senders. */
import { randomBytes } from 'node:crypto';
import type { EndpointDeliverySettings } from '../../../src/webhooks/endpoint/endpoint.ts';
import type { NewDelivery } from '../../../src/webhooks/sending/sender.ts';

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** An enabled endpoint with a secret and nothing else. */
export function newEndpoint(url: string, changes: Partial<EndpointDeliverySettings> = {}): EndpointDeliverySettings {
  return {
    id: `ep-${randomBytes(6).toString('hex')}`,
    url,
    secrets: [{ secret: newSecret(), until: null }],
    headers: {},
    ratePerSecond: null,
    ordering: 'none',
    retrySchedule: 'standard',
    enabled: true,
    ...changes,
  };
}

/** A delivery of the event with a number. */
export function newDelivery(endpoint: string, number: number, changes: Partial<NewDelivery> = {}): NewDelivery {
  const event = `1-${number}`;
  return {
    endpoint,
    event,
    type: 'todos.created',
    position: { epoch: 1, number },
    document: `todos/${number}`,
    body: JSON.stringify({ id: event, type: 'todos.created', endpoint }),
    trigger: 'schedule',
    ...changes,
  };
}

/** Deliveries of this many events, starting with a number. */
export function newDeliveries(endpoint: string, count: number, from = 1): readonly NewDelivery[] {
  return Array.from({ length: count }, (_, index) => newDelivery(endpoint, from + index));
}
