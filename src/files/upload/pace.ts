/**
 * The pace of uploads: a client that sends less than 1 KB/s over ten seconds is holding a connection, not uploading.
 * And the other side of it: reading on for a moment after a refusal, so that a client that is still sending sees the
 * answer instead of a broken connection.
 */
import type { IncomingMessage } from 'node:http';
import { MillraceError } from '../../kernel/errors.ts';

/** The window in which the pace is measured, and what must arrive in it. */
const WINDOW_MS = 10_000;
const WINDOW_BYTES = 10_240;
/** What is read and thrown away after a refusal before the connection is cut. */
const LINGER_MS = 5_000;
const LINGER_BYTES = 64 * 1_048_576;

/**
 * Breaks a body that comes too slowly. Time in which the server itself did not read counts for the client.
 * @returns ends the watch
 */
export function holdToPace(body: IncomingMessage, windowMs = WINDOW_MS, windowBytes = WINDOW_BYTES): () => void {
  let before = body.socket.bytesRead;
  const judge = () => {
    const now = body.socket.bytesRead;
    const waitingForUs = body.readableLength > 0;
    if (!body.complete && !waitingForUs && now - before < windowBytes) {
      body.destroy(new MillraceError('request-timeout', `An upload must bring ${windowBytes} bytes in 10 seconds`));
    }
    before = now;
  };
  // Timers come before what has arrived is read: after a busy moment the bytes of the window would not be counted.
  const timer = setInterval(() => setImmediate(judge), windowMs);
  const stop = () => clearInterval(timer);
  body.once('close', stop);
  return stop;
}

/** Reads on for a while, for nothing, when the answer is ready before the body has ended; then cuts the connection. */
export function linger(body: IncomingMessage): void {
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
