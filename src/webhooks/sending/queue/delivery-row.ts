/**
 * A delivery as it is stored, and as it is shown. Types and pure functions. Not here: reads and writes (…-store.ts).
 */
import type { ObjectId } from 'mongodb';
import type { Attempt, Delivery, DeliveryState, Trigger } from '../sender.ts';

/** Tries that are kept of one delivery. */
export const MAX_ATTEMPTS = 20;

/** A try as it is stored: the headers as JSON, because writing one text is cheaper than writing many fields. */
export interface StoredAttempt {
  readonly at: Date;
  readonly ms: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly trigger: Trigger;
  readonly request: string;
  readonly response: { readonly headers: string; readonly body: string } | null;
}

/** What a service has said of a delivery that it has taken. */
export interface Handed {
  /** Id of the message there. */
  readonly message: string;
  /** When the service took it, the last time; absent when it is to be told to send it once more. */
  readonly since?: Date;
  /** Present when it was told once more because the service seems to have lost it. */
  readonly lost?: true;
  /** Id of the newest try there that is kept here. */
  readonly seen?: string;
}

export interface DeliveryRow {
  /** `<endpoint>:<event>` */
  _id: string;
  endpoint: string;
  event: string;
  type: string;
  epoch: number;
  number: number;
  document: string | null;
  /** Present where the deliveries of one document go one after the other. */
  ordered?: true;
  state: DeliveryState;
  /** Present while it is pending: when it is to be tried, or when the lease of the process ends that has taken it. */
  due?: Date;
  /** Made anew by each taking; null while nobody has it. */
  take: string | null;
  /** Present while it waits for an earlier one of its document. */
  held?: true;
  /** Place in the schedule; of a service's, how often it was told or asked in vain. */
  tries: number;
  /** How often it was made due again by a request. */
  round?: number;
  /** Present once a service has taken it (svix/). */
  handed?: Handed;
  /** Tries in all. */
  count: number;
  attempts: StoredAttempt[];
  trigger: Trigger;
  createdAt: Date;
  finishedAt: Date | null;
  /** The body, or where it is stored for several deliveries together. */
  body?: string;
  bodyRef?: ObjectId;
  /** When the row is deleted. */
  expireAt: Date;
}

/** What is needed to try a delivery. */
export type DueRow = Omit<DeliveryRow, 'attempts'>;

/** What a list reads of a delivery: of its tries only how they ended. */
export interface ListedRow extends Omit<DeliveryRow, 'attempts' | 'body'> {
  readonly attempts: readonly Pick<StoredAttempt, 'at' | 'status' | 'error'>[];
}

export function toDelivery(row: ListedRow): Delivery {
  const { _id: id, endpoint, event, type, state, count, due, take, createdAt, finishedAt, attempts } = row;
  const nextAttemptAt = state === 'pending' && take === null ? (due ?? null) : null;
  const { at, status = null, error = null } = attempts.at(-1) ?? {};
  const last = at === undefined ? null : { at, status, error };
  return { id, endpoint, event, type, state, attempts: count, nextAttemptAt, createdAt, finishedAt, last };
}

export function toAttempt({ at, ms, status, error, trigger, request, response }: StoredAttempt): Attempt {
  return {
    at,
    durationMs: ms,
    status,
    error,
    trigger,
    request: { headers: JSON.parse(request) },
    response: response === null ? null : { headers: JSON.parse(response.headers), body: response.body },
  };
}
