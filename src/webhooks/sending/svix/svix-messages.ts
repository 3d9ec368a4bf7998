/**
 * A delivery as a message at Svix: told once under a key of our own, told again when that is asked for, and asked how it went.
 * Not here: what follows from that (svix-sender.ts).
 */
import type { MessageAttemptOut } from 'svix';
import { type Answered, statusError } from '../outcome.ts';
import type { DueRow } from '../queue/delivery-row.ts';
import { ENDED_KEPT_MS } from '../queue/retention.ts';
import { type SvixApi, SvixFault } from './svix-api.ts';

/** Tries that are read by one call: of one delivery Svix's schedule has eight. */
const TRIES_READ = 50;
const KEPT_DAYS = ENDED_KEPT_MS / (24 * 3_600_000);
/** Svix's numbers for how a try ended (`MessageStatus` of its API); the others have not ended. */
const FAILED: number = 2;
const ENDED: ReadonlySet<number> = new Set([0, FAILED, 4]);

/** A message that Svix has accepted. */
export interface Accepted {
  readonly message: string;
  /** Whether it was there already: an answer that was lost, or a process that died before it could note it. */
  readonly known: boolean;
  /** Whether it was tried already, as far as that was asked for. */
  readonly attempted: boolean;
}

/**
 * Tells Svix of a delivery. However often that is done, Svix makes one message of it: the id and the key are the delivery's.
 * @throws SvixFault
 */
export async function createMessage(api: SvixApi, app: string, row: DueRow, body: string): Promise<Accepted> {
  const eventId = eventIdOf(row);
  const message = {
    eventId,
    eventType: row.type.replaceAll(/[^a-zA-Z0-9\-_.]/g, '_'),
    channels: [row.endpoint],
    payloadRetentionPeriod: KEPT_DAYS,
    // The bytes as they are: Svix would write the JSON anew.
    payload: {},
    transformationsParams: { rawPayload: body },
  };
  try {
    const { id } = await api.call((svix) =>
      svix.message.create(app, message, { idempotencyKey: eventId, withContent: false }),
    );
    return { message: id, known: false, attempted: false };
  } catch (error) {
    if (!(error instanceof SvixFault) || error.kind !== 'conflict') throw error;
    return await acceptedBefore(api, app, eventId);
  }
}

/** Svix says that there is such a message. Whether it has reached its endpoint is asked, too. */
async function acceptedBefore(api: SvixApi, app: string, eventId: string): Promise<Accepted> {
  try {
    const { id } = await api.call((svix) => svix.message.get(app, eventId, { withContent: false }));
    const { data } = await api.call((svix) => svix.messageAttempt.listAttemptedDestinations(app, id));
    return { message: id, known: true, attempted: data.length > 0 };
  } catch (error) {
    // The other request may still be under way.
    if (error instanceof SvixFault && error.kind === 'missing') throw new SvixFault('away', error.message, error);
    throw error;
  }
}

/** Has a message sent once more. @throws SvixFault `missing` when Svix no longer has it, `refused` without its body */
export async function resendMessage(
  api: SvixApi,
  app: string,
  row: DueRow,
  message: string,
  key: string,
): Promise<void> {
  const options = { idempotencyKey: `${key}.${eventIdOf(row)}` };
  await api.call((svix) => svix.messageAttempt.resend(app, message, row.endpoint, options));
}

export interface SvixTry extends Pick<Answered, 'status' | 'error'> {
  readonly id: string;
  readonly at: Date;
  readonly durationMs: number;
  /** The beginning of the answer's body, with secrets. */
  readonly body: string;
}

/**
 * The tries of a message that have ended and are newer than one that is known, oldest first.
 * @throws SvixFault
 */
export async function newTries(
  api: SvixApi,
  app: string,
  message: string,
  seen: string | undefined,
): Promise<readonly SvixTry[]> {
  const { data } = await api.call((svix) =>
    svix.messageAttempt.listByMsg(app, message, { limit: TRIES_READ, withContent: true }),
  );
  const known = data.findIndex(({ id }) => id === seen);
  const fresh = known === -1 ? data : data.slice(0, known);
  return fresh
    .filter(({ status }) => ENDED.has(status))
    .map(toTry)
    .reverse();
}

/**
 * When Svix tries a failed message again; null when it does not, now when it has tried it again meanwhile, and `gone` when the
 * endpoint to which it was sent is no longer there.
 * @throws SvixFault
 */
export async function nextTry(
  api: SvixApi,
  app: string,
  { message, endpoint }: { readonly message: string; readonly endpoint: string },
  now: number,
): Promise<Date | 'gone' | null> {
  const { data } = await api.call((svix) => svix.messageAttempt.listAttemptedDestinations(app, message));
  // One that was deleted is still shown, without its uid.
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
}: MessageAttemptOut): SvixTry {
  const base = { id, at: timestamp, durationMs: responseDurationMs, body: response };
  if (responseStatusCode !== 0) return { ...base, status: responseStatusCode, error: statusError(responseStatusCode) };
  if (status === 4) return { ...base, status: null, error: 'cancelled' };
  // Without an answer, its body is a sentence of Svix's.
  const error = /timed? ?out/i.test(response) ? 'timeout' : /block/i.test(response) ? 'blocked-address' : 'unreachable';
  return { ...base, status: null, error };
}

/** The id of a delivery at Svix, where it must be unique for all applications. A replay may have another body. */
function eventIdOf({ endpoint, event, round }: DueRow): string {
  return round === undefined ? `${endpoint}.${event}` : `${endpoint}.${event}.${round}`;
}
