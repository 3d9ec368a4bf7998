/**
 * Runs and their lines as Server-Sent Events (HTML standard, "Server-sent events"), for one reader. What waits for a reader
 * is bounded: one that reads too slowly is cut off. Not here: HTTP (run-stream.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { idWithPass } from '../../kernel/answers/stream-ids.ts';
import type { LiveRuns, RunName } from '../runs/live-runs.ts';
import { type Run, withoutAccounts } from '../runs/run.ts';

/** What waits for one reader at most, in characters. */
export const MOST_WAITING = 512 * 1024;
/** A comment is sent when nothing else was for so long, in milliseconds: proxies cut silent connections off. */
const HEARTBEAT_MS = 15_000;
/** How soon a browser comes back, in milliseconds. */
const RETRY_MS = 2_000;

export interface RunMessagesParts {
  readonly live: Pick<LiveRuns, 'watch'>;
  /** Whether the reader wants what happens to a run. */
  readonly wants: (run: RunName) => boolean;
  /** Whether it may read what restricted runs log, and how they fail. */
  readonly mayReadAccounts: boolean;
  /** A pass that the reader gets as the id of the first message; null for none. */
  readonly pass: string | null;
  /** Ends the messages. */
  readonly signal: AbortSignal;
}

/** Messages from now on, until the signal ends them or too much waits. */
export async function* runMessages(parts: RunMessagesParts): AsyncGenerator<Buffer> {
  const { live, wants, mayReadAccounts, pass, signal } = parts;
  const id = pass === null ? '' : `id: ${idWithPass('', pass)}\n`;
  let waiting: string[] = [`${id}retry: ${RETRY_MS}\n\n`];
  let size = 0;
  let wake = new AbortController();
  const push = (event: string, data: object) => {
    const message = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    size += message.length;
    if (size <= MOST_WAITING) waiting.push(message);
    wake.abort();
  };
  const end = live.watch({
    onRun: (run: Run) => void (wants(run) && push('run', mayReadAccounts ? run : withoutAccounts(run))),
    onLine: (run, line) => {
      if (!wants(run) || (run.restricted && !mayReadAccounts)) return;
      push('line', { run: run.id, plugin: run.plugin, function: run.function, ...line });
    },
  });
  try {
    while (!signal.aborted && size <= MOST_WAITING) {
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

/** Resolves after the time of a heartbeat, or when the signal is given. */
async function quiet(signal: AbortSignal): Promise<void> {
  await pause(HEARTBEAT_MS, undefined, { signal, ref: false }).catch(() => undefined);
}
