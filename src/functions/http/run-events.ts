/**
 * Runs and log lines as Server-Sent Events (HTML standard, "Server-sent events"), for one client. The buffer is
 * bounded: a client that reads too slowly is disconnected.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { formatStreamEventId } from '../../lib/streaming/stream-ids.ts';
import type { LiveRuns, RunRef } from '../runs/live-runs.ts';
import { type Run, redactRunError } from '../runs/run.ts';

/** Maximum buffer of one client, in characters. */
export const MAX_STREAM_BUFFER_CHARACTERS = 512 * 1024;
/** A comment is sent after this silence, in milliseconds: proxies close idle connections. */
const HEARTBEAT_MS = 15_000;
/** Reconnection delay of browsers, in milliseconds. */
const RETRY_MS = 2_000;

export interface RunEventsDeps {
  readonly live: Pick<LiveRuns, 'watch'>;
  /** Whether the client wants events of a run. */
  readonly matches: (run: RunRef) => boolean;
  /** Whether the client may read logs and errors of restricted runs. */
  readonly mayReadUsers: boolean;
  /** A token for the id of the first message; null for none. */
  readonly pass: string | null;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/** Messages from now on, until the signal aborts or the buffer is full. */
export async function* streamRunEvents(deps: RunEventsDeps): AsyncGenerator<Buffer> {
  const { live, matches, mayReadUsers, pass, signal } = deps;
  const id = pass === null ? '' : `id: ${formatStreamEventId('', pass)}\n`;
  let waiting: string[] = [`${id}retry: ${RETRY_MS}\n\n`];
  let size = 0;
  let wake = new AbortController();
  const push = (event: string, data: object) => {
    const message = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    size += message.length;
    if (size <= MAX_STREAM_BUFFER_CHARACTERS) waiting.push(message);
    wake.abort();
  };
  const end = live.watch({
    onRun: (run: Run) => void (matches(run) && push('run', mayReadUsers ? run : redactRunError(run))),
    onLine: (run, line) => {
      if (!matches(run) || (run.restricted && !mayReadUsers)) return;
      push('line', { run: run.id, plugin: run.plugin, function: run.function, ...line });
    },
  });
  try {
    while (!signal.aborted && size <= MAX_STREAM_BUFFER_CHARACTERS) {
      const messages = waiting.length > 0 ? waiting.join('') : ': \n\n';
      waiting = [];
      size = 0;
      wake = new AbortController();
      yield Buffer.from(messages);
      if (waiting.length === 0) await quiet(AbortSignal.any([signal, wake.signal]));
    }
  } finally {
    end();
  }
}

/** Resolves after one heartbeat interval, or when the signal is given. */
async function quiet(signal: AbortSignal): Promise<void> {
  await pause(HEARTBEAT_MS, undefined, { signal, ref: false }).catch(() => undefined);
}
