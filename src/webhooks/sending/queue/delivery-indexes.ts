/** The indexes of deliveries. Each delivery writes all of them, so each has a reason here. */
import type { IndexDescription } from 'mongodb';
import { DUE_FILTER, DUE_INDEX, EXPIRY_INDEX } from '../../../queue/job-collection.ts';

export const DELIVERY_INDEXES: readonly IndexDescription[] = [
  // Due deliveries by endpoint.
  { key: { endpoint: 1, dueAt: 1 }, partialFilterExpression: DUE_FILTER },
  DUE_INDEX,
  // The first delivery of each document, for ordered endpoints.
  {
    key: { endpoint: 1, document: 1, epoch: 1, number: 1 },
    partialFilterExpression: { ordered: true, ...DUE_FILTER },
  },
  // Lists: all, by endpoint, by state, by event.
  { key: { createdAt: -1, _id: -1 } },
  { key: { endpoint: 1, createdAt: -1, _id: -1 } },
  { key: { state: 1, createdAt: -1, _id: -1 } },
  { key: { event: 1 } },
  EXPIRY_INDEX,
];
