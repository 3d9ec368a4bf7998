/**
 * The indexes of deliveries, and why there are that many: each is written with every delivery. Not here: the questions that
 * use them (…-store.ts).
 */
import type { IndexDescription } from 'mongodb';

/** Pending deliveries have a time at which they are due, others have none. */
export const PENDING = { due: { $exists: true } } as const;

export const DELIVERY_INDEXES: readonly IndexDescription[] = [
  // Which endpoints have something due, and what.
  { key: { endpoint: 1, due: 1 }, partialFilterExpression: PENDING },
  // When the next one is due, of all endpoints.
  { key: { due: 1 }, partialFilterExpression: PENDING },
  // The first one of each document, where deliveries are ordered.
  {
    key: { endpoint: 1, document: 1, epoch: 1, number: 1 },
    partialFilterExpression: { ordered: true, ...PENDING },
  },
  // Lists: of all, of an endpoint, of a state, of an event.
  { key: { createdAt: -1, _id: -1 } },
  { key: { endpoint: 1, createdAt: -1, _id: -1 } },
  { key: { state: 1, createdAt: -1, _id: -1 } },
  { key: { event: 1 } },
  // The end of retention.
  { key: { expireAt: 1 }, expireAfterSeconds: 0 },
];
