/** A delivery as stored and in responses. */
import type { ObjectId } from 'mongodb';
import type { JobRow } from '../../../queue/job-collection.ts';
import type { Attempt, AttemptTrigger, Delivery, DeliveryState } from '../sender.ts';

const DAY_MS = 24 * 3_600_000;

/** Ended deliveries and their attempts. */
export const FINISHED_RETENTION_MS = 30 * DAY_MS;
/**
 * Deliveries that have not ended, and bodies that several share. No schedule is nearly that long, and
 * what is pending for a removed endpoint is canceled: this is the bound for whatever is left all the same.
 */
export const PENDING_RETENTION_MS = 60 * DAY_MS;

/** When a row is deleted. @param from milliseconds since 1970 */
export function deliveryExpiry(from: number, keptMs: number): Date {
  return new Date(from + keptMs);
}

/** Attempts stored for one delivery. */
export const MAX_STORED_ATTEMPTS = 20;

/** A stored attempt. Headers are JSON text, because one text is cheaper to write than many fields. */
export interface StoredAttempt {
  readonly at: Date;
  readonly ms: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly trigger: AttemptTrigger;
  readonly request: string;
  readonly response: { readonly headers: string; readonly body: string } | null;
}

/** What Svix reported about a delivery that it accepted. */
export interface SvixMessageState {
  /** Id of the message at Svix. */
  readonly message: string;
  /** When Svix last accepted it; absent if Svix is to send it again. */
  readonly since?: Date;
  /** Set if it was submitted again because Svix seems to have lost it. */
  readonly lost?: true;
  /** Id of the newest attempt at Svix that is stored here. */
  readonly seen?: string;
}

/** Its id is `<endpoint>:<event>`. */
export interface DeliveryRow extends JobRow {
  endpoint: string;
  event: string;
  type: string;
  epoch: number;
  number: number;
  document: string | null;
  /** Set if the deliveries of one document are ordered. */
  ordered?: true;
  state: DeliveryState;
  token: string | null;
  /** Set while it waits for an earlier one of its document. */
  held?: true;
  /** Position in the schedule; for Svix, the number of failed submissions or polls. */
  attempt: number;
  /** How often a request made it due again. */
  round?: number;
  /** Set after Svix has accepted it (svix/). */
  handed?: SvixMessageState;
  /** Total number of attempts. */
  count: number;
  attempts: StoredAttempt[];
  trigger: AttemptTrigger;
  createdAt: Date;
  finishedAt: Date | null;
  /** The body, or a reference to one that several deliveries share. */
  body?: string;
  bodyRef?: ObjectId;
  /** When the row is deleted. */
  expireAt: Date;
}

/** The fields needed for an attempt. */
export type DueDelivery = Omit<DeliveryRow, 'attempts'>;

/** The fields needed for a list: of attempts only their results. */
export interface ListedDelivery extends Omit<DeliveryRow, 'attempts' | 'body'> {
  readonly attempts: readonly Pick<StoredAttempt, 'at' | 'status' | 'error'>[];
}

export function toDelivery(row: ListedDelivery): Delivery {
  const { _id: id, endpoint, event, type, state, count, dueAt, token, createdAt, finishedAt, attempts } = row;
  const nextAttemptAt = state === 'pending' && token === null ? (dueAt ?? null) : null;
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
