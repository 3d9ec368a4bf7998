/** Live runs of functions: runs that start, change or end, and lines that they log (GET /admin/runs/live). */
import { useEffect, useRef } from 'react';
import { withQuery } from './client.ts';
import { useSession } from './live.ts';
import { SERVER } from './server.ts';
import { session } from './session.ts';

/** A stream that ended is requested again after this time, in milliseconds. */
const AGAIN_MS = 2_000;

/**
 * Calls `onMessage` with each message of the stream. It reconnects after a restart of the server; what happened
 * meanwhile is in the list of runs.
 * @param plugin only of this plugin
 */
export function useRunStream(plugin: string | undefined, onMessage: (event: string, message: unknown) => void): void {
  const { state, turn } = useSession();
  const listener = useRef(onMessage);
  listener.current = onMessage;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` restarts it after another sign-in
  useEffect(() => {
    if (state === 'signed-out') return;
    const ending = new AbortController();
    void follow(withQuery('/admin/runs/live', { plugin }), ending.signal, (...message) => listener.current(...message));
    return () => ending.abort();
  }, [plugin, state === 'signed-out', turn]);
}

async function follow(path: string, signal: AbortSignal, report: (event: string, message: unknown) => void) {
  let refused: string | null = null;
  while (!signal.aborted) {
    try {
      const token = await session.source(refused);
      const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
      const response = await fetch(SERVER + path, { headers, signal });
      refused = response.status === 401 ? token : null;
      if (response.ok && response.body !== null) await read(response.body, report);
    } catch {
      // The server is unavailable for a while, or the page has closed the stream.
    }
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** Server-Sent Events (HTML standard): messages are separated by an empty line. */
async function read(body: ReadableStream<Uint8Array<ArrayBuffer>>, report: (event: string, message: unknown) => void) {
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const messages = (rest + part.value).split('\n\n');
    rest = messages.pop() ?? '';
    for (const message of messages) {
      const event = /^event: (.*)$/m.exec(message)?.[1];
      const text = /^data: (.*)$/m.exec(message)?.[1];
      if (event !== undefined && text !== undefined) report(event, JSON.parse(text));
    }
  }
}
