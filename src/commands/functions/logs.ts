/**
 * `millrace functions logs`: a line for each log line of a run and for the end of each attempt, as they happen, also across
 * restarts of the server.
 */
import { setTimeout as pause } from 'node:timers/promises';
import Type from 'typebox';
import { Check } from 'typebox/schema';
import { formatLogLines, formatRunEnd } from '../../functions/runs/run-log-format.ts';
import { type RemoteServer, ServerErrorResponse } from '../remote/remote.ts';
import { parseServerSentEvents } from './event-stream.ts';

const AGAIN_MS = 1_000;

const LINE = Type.Object({
  plugin: Type.String(),
  function: Type.String(),
  at: Type.String(),
  level: Type.Union([Type.Literal('info'), Type.Literal('warn'), Type.Literal('error')]),
  text: Type.String(),
});
const nullableText = Type.Union([Type.Null(), Type.String()]);
const RUN = Type.Object({
  id: Type.String(),
  plugin: Type.String(),
  function: Type.String(),
  state: Type.String(),
  attempts: Type.Number(),
  durationMs: Type.Union([Type.Null(), Type.Number()]),
  error: Type.Union([Type.Null(), Type.Object({ code: Type.String(), message: Type.String(), stack: nullableText })]),
});

/**
 * Runs until the signal.
 * @throws Error when the server is unreachable at first, or rejects the request
 */
export async function followFunctionLogs(
  requested: { readonly plugin: string | undefined; readonly fn: string | undefined },
  remote: RemoteServer,
  stop: AbortSignal,
): Promise<boolean> {
  const names = {
    ...(requested.plugin && { plugin: requested.plugin }),
    ...(requested.fn && { functionName: requested.fn }),
  };
  const path = `/admin/runs/live?${new URLSearchParams(names)}`.replace(/\?$/, '');
  let followed = false;
  while (!stop.aborted) {
    const body = await remote.follow(path, stop).catch((error: unknown) => {
      if (stop.aborted || (followed && mayPass(error))) return null;
      throw error;
    });
    if (body !== null) {
      console.log(followed ? 'Reconnected' : `Following runs at ${remote.url}. Press Ctrl-C to stop.`);
      followed = true;
      await showAll(body);
      if (!stop.aborted) console.log('Connection lost, reconnecting. Runs in the meantime are in GET /admin/runs');
    }
    await pause(AGAIN_MS, undefined, { signal: stop }).catch(() => undefined);
  }
  return true;
}

/** Retrying does not restore a revoked right, but a restarted server comes back. */
function mayPass(error: unknown): boolean {
  return !(error instanceof ServerErrorResponse) || error.status >= 500;
}

/** Ends with the stream, also with an aborted one. */
async function showAll(body: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const { type, data } of parseServerSentEvents(body)) show(type, data);
  } catch (error) {
    if (error instanceof SyntaxError) throw error;
  }
}

function show(type: string, data: string): void {
  const value: unknown = JSON.parse(data);
  if (type === 'line' && Check(LINE, value)) print(value.at, formatLogLines(value, value));
  if (type === 'run' && Check(RUN, value)) print(new Date().toISOString(), formatRunEnd(value));
}

/** With the UTC time before the first line. */
function print(at: string, [first, ...more]: readonly string[]): void {
  if (first !== undefined) console.log([`${at.slice(11, 19)}  ${first}`, ...more].join('\n'));
}
