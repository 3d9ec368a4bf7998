/** Builds the rows of new deliveries and splits them into commands. */
import type { ObjectId } from 'mongodb';
import type { EndpointDeliverySettings } from '../../endpoint/endpoint.ts';
import type { NewDelivery } from '../sender.ts';
import { type DeliveryRow, deliveryExpiry, FINISHED_RETENTION_MS, PENDING_RETENTION_MS } from './delivery-row.ts';

/** Far below the 48 MB limit of one command. */
const MAX_BATCH = 500;
const MAX_CHARACTERS = 4 * 1_024 * 1_024;

/** Splits deliveries into batches, in order. A body counts once in a batch, because it is stored once. */
export function* splitIntoBatches(deliveries: readonly NewDelivery[]): Generator<readonly NewDelivery[]> {
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

export interface DeliveryRowOptions {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly dueAt: Date;
  readonly token: string | null;
  /** Undefined for an endpoint that this process does not know yet. */
  readonly target: EndpointDeliverySettings | undefined;
  /** A reference to a body that several deliveries share. */
  readonly ref: ObjectId | undefined;
}

export function toDeliveryRow(one: NewDelivery, { now, dueAt, token, target, ref }: DeliveryRowOptions): DeliveryRow {
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
    attempt: 0,
    count: 0,
    attempts: [],
    trigger,
    createdAt,
    ...(ref === undefined ? { body } : { bodyRef: ref }),
  };
  if (target?.enabled === false) {
    return {
      ...row,
      token: null,
      state: 'canceled',
      finishedAt: createdAt,
      expireAt: deliveryExpiry(now, FINISHED_RETENTION_MS),
    };
  }
  const ordered = target?.ordering === 'document' && document !== null && trigger !== 'test';
  const expireAt = deliveryExpiry(now, PENDING_RETENTION_MS);
  return { ...row, token, dueAt, expireAt, state: 'pending', finishedAt: null, ...(ordered ? { ordered: true } : {}) };
}
