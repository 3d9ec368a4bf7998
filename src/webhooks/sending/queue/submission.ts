/**
 * What is stored of new deliveries, and how many by one command. Pure. Not here: which of them this process takes at once
 * (queue-sender.ts).
 */
import type { ObjectId } from 'mongodb';
import type { EndpointTarget } from '../../endpoint/endpoint.ts';
import type { NewDelivery } from '../sender.ts';
import type { DeliveryRow } from './delivery-row.ts';
import { ENDED_KEPT_MS, expiry, WAITING_KEPT_MS } from './retention.ts';

/** Far below what one command may hold, which is 48 MB. */
const MAX_BATCH = 500;
const MAX_CHARACTERS = 4 * 1_024 * 1_024;

/** Cuts deliveries into batches, in their order. A body counts once in a batch, because it is stored once. */
export function* insertBatches(deliveries: readonly NewDelivery[]): Generator<readonly NewDelivery[]> {
  let batch: NewDelivery[] = [];
  let bodies = new Set<string>();
  let characters = 0;
  for (const one of deliveries) {
    const more = bodies.has(one.body) ? 0 : one.body.length;
    if (batch.length === MAX_BATCH || (batch.length > 0 && characters + more > MAX_CHARACTERS)) {
      yield batch;
      batch = [];
      bodies = new Set();
      characters = 0;
    }
    batch.push(one);
    if (!bodies.has(one.body)) characters += one.body.length;
    bodies.add(one.body);
  }
  if (batch.length > 0) yield batch;
}

export interface Stored {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly due: Date;
  readonly take: string | null;
  /** Undefined for an endpoint that this process was not told of yet. */
  readonly target: EndpointTarget | undefined;
  /** Where the body is stored for several deliveries together. */
  readonly ref: ObjectId | undefined;
}

export function newRow(one: NewDelivery, { now, due, take, target, ref }: Stored): DeliveryRow {
  const { endpoint, event, type, position, document, body, trigger } = one;
  const createdAt = new Date(now);
  const row = {
    _id: `${endpoint}:${event}`,
    endpoint,
    event,
    type,
    epoch: position.epoch,
    number: position.number,
    document,
    tries: 0,
    count: 0,
    attempts: [],
    trigger,
    createdAt,
    ...(ref === undefined ? { body } : { bodyRef: ref }),
  };
  if (target?.enabled === false) {
    return { ...row, take: null, state: 'discarded', finishedAt: createdAt, expireAt: expiry(now, ENDED_KEPT_MS) };
  }
  const ordered = target?.ordering === 'document' && document !== null && trigger !== 'test';
  const expireAt = expiry(now, WAITING_KEPT_MS);
  return { ...row, take, due, expireAt, state: 'pending', finishedAt: null, ...(ordered ? { ordered: true } : {}) };
}
