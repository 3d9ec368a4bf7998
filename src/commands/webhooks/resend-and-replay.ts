/**
 * `millrace webhooks resend` and `replay`: resend deliveries, and show the progress until it is done. The server does the work,
 * also if the command is ended earlier.
 */
import { setTimeout as pause } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import type { RemoteServer } from '../remote/remote.ts';

const POLL_MS = 300;
/** How long a resent delivery is watched: an attempt takes 15 seconds at most. */
const WATCH_MS = 30_000;

const nullableText = Type.Union([Type.String(), Type.Null()]);
const DELIVERY = Type.Object({
  id: Type.String(),
  type: Type.String(),
  endpoint: Type.String(),
  state: Type.String(),
  attempts: Type.Number(),
  nextAttemptAt: nullableText,
  last: Type.Union([
    Type.Null(),
    Type.Object({ at: Type.String(), status: Type.Union([Type.Number(), Type.Null()]), error: nullableText }),
  ]),
});
const REPLAY = Type.Object({ id: Type.String(), state: Type.String() });
const REPLAY_STATE = Type.Object({ state: Type.String(), sent: Type.Number(), position: nullableText });

/**
 * Resends one delivery, and waits for the attempt.
 * @returns false if that failed, or did not finish in time
 */
export async function resendDelivery(id: string, remote: RemoteServer, stop: AbortSignal): Promise<boolean> {
  const path = `/webhooks/deliveries/${encodeURIComponent(id)}`;
  const before = await remote.request(DELIVERY, 'GET', path);
  await remote.request(Type.Unknown(), 'POST', `${path}/resend`);
  console.log(`${before.type} resent to the endpoint ${before.endpoint}`);
  const end = performance.now() + WATCH_MS;
  let delivery = before;
  while (!stop.aborted && delivery.last?.at === before.last?.at && performance.now() < end) {
    await waitFor(stop);
    delivery = await remote.request(DELIVERY, 'GET', path);
  }
  const tried = delivery.last?.at !== before.last?.at;
  console.log(tried ? outcomeOf(delivery) : `No attempt yet; see GET ${path}`);
  return tried && delivery.state === 'succeeded';
}

function outcomeOf({ state, last, nextAttemptAt }: Static<typeof DELIVERY>): string {
  if (state === 'succeeded') return `Succeeded: the response was ${last?.status}`;
  const why = last?.status == null ? String(last?.error) : `the response was ${last.status}`;
  return nextAttemptAt === null
    ? `Failed: ${why}. The delivery has ${state}`
    : `Failed: ${why}. The next attempt is at ${nextAttemptAt}`;
}

export interface ReplayRange {
  /** The position after which it starts. */
  readonly since: string;
  readonly until?: string;
  readonly types?: readonly string[];
}

/**
 * Creates deliveries for a range of the log, and shows the progress: one updated line in a terminal, elsewhere a line per change.
 * @returns false if the replay failed
 */
export async function replayDeliveries(
  endpoint: string,
  range: ReplayRange,
  remote: RemoteServer,
  stop: AbortSignal,
): Promise<boolean> {
  const begun = await remote.request(
    REPLAY,
    'POST',
    `/webhooks/endpoints/${encodeURIComponent(endpoint)}/replay`,
    range,
  );
  const path = `/webhooks/replays/${encodeURIComponent(begun.id)}`;
  let shown = '';
  for (;;) {
    const { state, sent, position } = await remote.request(REPLAY_STATE, 'GET', path);
    const line = `${sent} deliveries created, at ${position ?? range.since}`;
    if (line !== shown) process.stdout.write(process.stdout.isTTY ? `\r${line}` : `${line}\n`);
    shown = line;
    if (state !== 'running') {
      console.log(`${process.stdout.isTTY ? '\n' : ''}The replay ${begun.id}: ${state}`);
      return state === 'succeeded';
    }
    if (stop.aborted) {
      console.log(`\nThe replay continues on the server; its progress is at GET ${path}`);
      return true;
    }
    await waitFor(stop);
  }
}

/** A pause between two requests; the signal ends it. */
async function waitFor(stop: AbortSignal): Promise<void> {
  await pause(POLL_MS, undefined, { signal: stop }).catch(() => undefined);
}
