/**
 * `millrace webhooks resend` and `replay`: send again, and show how it goes until it is done. The server does the work, also
 * when the command is ended before.
 */
import { setTimeout as pause } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import type { Remote } from '../remote/remote.ts';

const POLL_MS = 300;
/** For how long a delivery that was sent again is watched: a try takes 15 seconds at most. */
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
 * Sends one delivery again, and waits for the try.
 * @returns false if that failed, or did not come in time
 */
export async function resend(id: string, remote: Remote, stop: AbortSignal): Promise<boolean> {
  const path = `/webhooks/deliveries/${encodeURIComponent(id)}`;
  const before = await remote.ask(DELIVERY, 'GET', path);
  await remote.ask(Type.Unknown(), 'POST', `${path}/resend`);
  console.log(`${before.type} is sent again to the endpoint ${before.endpoint}`);
  const end = performance.now() + WATCH_MS;
  let delivery = before;
  while (!stop.aborted && delivery.last?.at === before.last?.at && performance.now() < end) {
    await waitFor(stop);
    delivery = await remote.ask(DELIVERY, 'GET', path);
  }
  const tried = delivery.last?.at !== before.last?.at;
  console.log(tried ? outcomeOf(delivery) : `It was not tried yet; GET ${path} says when it is`);
  return tried && delivery.state === 'delivered';
}

function outcomeOf({ state, last, nextAttemptAt }: Static<typeof DELIVERY>): string {
  if (state === 'delivered') return `Delivered: the answer was ${last?.status}`;
  const why = last?.status == null ? String(last?.error) : `the answer was ${last.status}`;
  return nextAttemptAt === null
    ? `Failed: ${why}. It is ${state}`
    : `Failed: ${why}. The next try is at ${nextAttemptAt}`;
}

export interface ReplayRange {
  /** The position after which it begins. */
  readonly since: string;
  readonly until?: string;
  readonly types?: readonly string[];
}

/**
 * Makes deliveries of a range of the log, and shows the progress: one line that changes in a terminal, elsewhere a line for
 * each change.
 * @returns false when the replay failed
 */
export async function replay(
  endpoint: string,
  range: ReplayRange,
  remote: Remote,
  stop: AbortSignal,
): Promise<boolean> {
  const begun = await remote.ask(REPLAY, 'POST', `/webhooks/endpoints/${encodeURIComponent(endpoint)}/replay`, range);
  const path = `/webhooks/replays/${encodeURIComponent(begun.id)}`;
  let shown = '';
  for (;;) {
    const { state, sent, position } = await remote.ask(REPLAY_STATE, 'GET', path);
    const line = `${sent} deliveries made, at ${position ?? range.since}`;
    if (line !== shown) process.stdout.write(process.stdout.isTTY ? `\r${line}` : `${line}\n`);
    shown = line;
    if (state !== 'running') {
      console.log(`${process.stdout.isTTY ? '\n' : ''}The replay ${begun.id} is ${state}`);
      return state === 'done';
    }
    if (stop.aborted) {
      console.log(`\nThe replay goes on at the server; GET ${path} says how far it is`);
      return true;
    }
    await waitFor(stop);
  }
}

/** A pause between two questions; the signal ends it. */
async function waitFor(stop: AbortSignal): Promise<void> {
  await pause(POLL_MS, undefined, { signal: stop }).catch(() => undefined);
}
