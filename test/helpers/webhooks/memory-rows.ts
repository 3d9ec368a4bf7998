/** Deliveries of the sender in memory, and their representation in lists. */
import type {
  Attempt,
  AttemptTrigger,
  Delivery,
  DeliveryQuery,
  NewDelivery,
} from '../../../src/webhooks/sending/sender.ts';

export interface Row {
  readonly one: NewDelivery;
  body: string;
  trigger: AttemptTrigger;
  state: Delivery['state'];
  due: number;
  attempt: number;
  count: number;
  readonly createdAt: Date;
  finishedAt: Date | null;
  attempts: Attempt[];
  busy: boolean;
}

export function idOf({ endpoint, event }: NewDelivery): string {
  return `${endpoint}:${event}`;
}

export function shown({ one, state, count, due, busy, createdAt, finishedAt, attempts }: Row): Delivery {
  const { endpoint, event, type } = one;
  const last = attempts.at(-1) ?? null;
  const nextAttemptAt = state === 'pending' && !busy ? new Date(due) : null;
  return { id: idOf(one), endpoint, event, type, state, attempts: count, nextAttemptAt, createdAt, finishedAt, last };
}

export function fits(
  one: Delivery,
  { endpoint, endpoints, state, type, event }: Omit<DeliveryQuery, 'limit'>,
): boolean {
  const pattern = type
    ?.split('*')
    .map((part) => part.replaceAll('.', '\\.'))
    .join('.*');
  return (
    (endpoint === undefined || one.endpoint === endpoint) &&
    (endpoints === undefined || endpoints.includes(one.endpoint)) &&
    (state === undefined || one.state === state) &&
    (event === undefined || one.event === event) &&
    (pattern === undefined || new RegExp(`^${pattern}$`).test(one.type))
  );
}
