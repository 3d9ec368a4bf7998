/** A delivery as a message at Svix: created under our own key, resent on request, and polled for its result. */
import type { MessageAttemptOut } from 'svix';
import { type AttemptResponse, statusError } from '../attempt-outcome.ts';
import type { DueDelivery } from '../queue/delivery-row.ts';
import { FINISHED_RETENTION_MS } from '../queue/delivery-row.ts';
import { type SvixApi, SvixError } from './svix-api.ts';

/** Attempts read by one call: Svix's schedule has eight for one delivery. */
const ATTEMPTS_READ = 50;
const KEPT_DAYS = FINISHED_RETENTION_MS / (24 * 3_600_000);
/** Svix's final states of an attempt (`MessageStatus` of its API); in the other states it has not ended. */
const FAILED: number = 2;
const ENDED: ReadonlySet<number> = new Set([0, FAILED, 4]);

/** A message that Svix has accepted. */
export interface AcceptedMessage {
  readonly message: string;
  /** Whether it existed already: a response was lost, or a process died before recording it. */
  readonly known: boolean;
  /** Whether it was attempted already, as far as that was checked. */
  readonly attempted: boolean;
}

/**
 * Creates the message of a delivery. Repeated calls create one message only: the id and the key are the delivery's.
 * @throws SvixError
 */
export async function createSvixMessage(
  api: SvixApi,
  app: string,
  row: DueDelivery,
  body: string,
): Promise<AcceptedMessage> {
  const eventId = eventIdOf(row);
  const message = {
    eventId,
    eventType: row.type.replaceAll(/[^a-zA-Z0-9\-_.]/g, '_'),
    channels: [row.endpoint],
    payloadRetentionPeriod: KEPT_DAYS,
    // The bytes unchanged: Svix would serialize the JSON again.
    payload: {},
    transformationsParams: { rawPayload: body },
  };
  try {
    const { id } = await api.call((svix) =>
      svix.message.create(app, message, { idempotencyKey: eventId, withContent: false }),
    );
    return { message: id, known: false, attempted: false };
  } catch (error) {
    if (!(error instanceof SvixError) || error.kind !== 'conflict') throw error;
    return await acceptedBefore(api, app, eventId);
  }
}

/** The message exists at Svix. Also checks whether it has reached its endpoint. */
async function acceptedBefore(api: SvixApi, app: string, eventId: string): Promise<AcceptedMessage> {
  try {
    const { id } = await api.call((svix) => svix.message.get(app, eventId, { withContent: false }));
    const { data } = await api.call((svix) => svix.messageAttempt.listAttemptedDestinations(app, id));
    return { message: id, known: true, attempted: data.length > 0 };
  } catch (error) {
    // The other request may still be active.
    if (error instanceof SvixError && error.kind === 'missing') throw new SvixError('away', error.message, error);
    throw error;
  }
}

/** Resends a message. @throws SvixError `missing` if Svix no longer has it, `refused` without its body */
export async function resendSvixMessage(
  api: SvixApi,
  app: string,
  row: DueDelivery,
  message: string,
  key: string,
): Promise<void> {
  const options = { idempotencyKey: `${key}.${eventIdOf(row)}` };
  await api.call((svix) => svix.messageAttempt.resend(app, message, row.endpoint, options));
}

export interface SvixAttempt extends Pick<AttemptResponse, 'status' | 'error'> {
  readonly id: string;
  readonly at: Date;
  readonly durationMs: number;
  /** The beginning of the response body, with secrets. */
  readonly body: string;
}

/** The ended attempts of a message after a known one, oldest first. @throws SvixError */
export async function listNewAttempts(
  api: SvixApi,
  app: string,
  message: string,
  seen: string | undefined,
): Promise<readonly SvixAttempt[]> {
  const { data } = await api.call((svix) =>
    svix.messageAttempt.listByMsg(app, message, { limit: ATTEMPTS_READ, withContent: true }),
  );
  const known = data.findIndex(({ id }) => id === seen);
  const fresh = known === -1 ? data : data.slice(0, known);
  return fresh
    .filter(({ status }) => ENDED.has(status))
    .map(toTry)
    .reverse();
}

/**
 * When Svix retries a failed message; null if it does not, now if it has retried it in between, and `gone` if the
 * endpoint of the message no longer exists.
 * @throws SvixError
 */
export async function nextRetryAt(
  api: SvixApi,
  app: string,
  { message, endpoint }: { readonly message: string; readonly endpoint: string },
  now: number,
): Promise<Date | 'gone' | null> {
  const { data } = await api.call((svix) => svix.messageAttempt.listAttemptedDestinations(app, message));
  // A deleted one is still listed, without its uid.
  const destination = data.find(({ uid }) => uid === endpoint);
  if (destination === undefined) return 'gone';
  return destination.status === FAILED ? (destination.nextAttempt ?? null) : new Date(now);
}

function toTry({
  id,
  timestamp,
  status,
  response,
  responseStatusCode,
  responseDurationMs,
}: MessageAttemptOut): SvixAttempt {
  const base = { id, at: timestamp, durationMs: responseDurationMs, body: response };
  if (responseStatusCode !== 0) return { ...base, status: responseStatusCode, error: statusError(responseStatusCode) };
  if (status === 4) return { ...base, status: null, error: 'canceled' };
  // Without a response, its body is a sentence of Svix.
  const error = /timed? ?out/i.test(response) ? 'timeout' : /block/i.test(response) ? 'blocked-ip' : 'unreachable';
  return { ...base, status: null, error };
}

/** The id of a delivery at Svix, where it must be unique across applications. A replay may have another body. */
function eventIdOf({ endpoint, event, round }: DueDelivery): string {
  return round === undefined ? `${endpoint}.${event}` : `${endpoint}.${event}.${round}`;
}
