/** The indexes of deliveries. Each delivery writes all of them, so each has a reason here. */
import type { IndexDescription } from 'mongodb';

/** Only pending deliveries have a due time. */
export const PENDING_FILTER = { due: { $exists: true } } as const;

export const DELIVERY_INDEXES: readonly IndexDescription[] = [
  // Due deliveries by endpoint.
  { key: { endpoint: 1, due: 1 }, partialFilterExpression: PENDING_FILTER },
  // The next due time of all endpoints.
  { key: { due: 1 }, partialFilterExpression: PENDING_FILTER },
  // The first delivery of each document, for ordered endpoints.
  {
    key: { endpoint: 1, document: 1, epoch: 1, number: 1 },
    partialFilterExpression: { ordered: true, ...PENDING_FILTER },
  },
  // Lists: all, by endpoint, by state, by event.
  { key: { createdAt: -1, _id: -1 } },
  { key: { endpoint: 1, createdAt: -1, _id: -1 } },
  { key: { state: 1, createdAt: -1, _id: -1 } },
  { key: { event: 1 } },
  // The end of retention.
  { key: { expireAt: 1 }, expireAfterSeconds: 0 },
];
