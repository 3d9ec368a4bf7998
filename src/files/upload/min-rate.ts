/**
 * The minimum speed of uploads: a client that sends less than 1 KB/s over ten seconds, or nothing, is disconnected. Conversely,
 * after an error response the server reads on for a moment, so that a client that is still sending receives the response instead
 * of a broken connection.
 */
import type { IncomingMessage } from 'node:http';
import { MillraceError } from '../../lib/errors.ts';

/** The window in which the rate is measured, and the bytes that must arrive in it. */
const WINDOW_MS = 10_000;
const WINDOW_BYTES = 10_240;
/** How long, and how much, is read and discarded after an error response before the connection is closed. */
const LINGER_MS = 5_000;
const LINGER_BYTES = 64 * 1_048_576;

/**
 * Fails a body that arrives too slowly. Time in which the server itself did not read does not count.
 * @returns a function that stops the watch
 */
export function enforceMinimumRate(
  body: IncomingMessage,
  windowMs = WINDOW_MS,
  windowBytes = WINDOW_BYTES,
): () => void {
  let before = body.socket.bytesRead;
  const judge = () => {
    const now = body.socket.bytesRead;
    const waitingForUs = body.readableLength > 0;
    if (!body.complete && !waitingForUs && now - before < windowBytes) {
      body.destroy(
        new MillraceError('request-timeout', `An upload must send at least ${windowBytes} bytes in 10 seconds`),
      );
    }
    before = now;
  };
  // Timers run before arrived bytes are read: after a busy moment the bytes of the window would not be counted yet.
  const timer = setInterval(() => setImmediate(judge), windowMs);
  const stop = () => clearInterval(timer);
  body.once('close', stop);
  return stop;
}

/** If the response is ready before the body has ended, reads and discards for a while, then closes the connection. */
export function drainAfterResponse(body: IncomingMessage): void {
  if (body.complete || body.destroyed) return;
  let bytes = 0;
  const cut = () => void body.destroy();
  body.unpipe();
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) cut();
  });
  body.resume();
  const timer = setTimeout(cut, LINGER_MS).unref();
  const stop = () => clearTimeout(timer);
  body.once('end', stop).once('close', stop);
}
