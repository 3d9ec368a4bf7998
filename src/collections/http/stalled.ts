/**
 * The end of answers that nobody takes: a client that has stopped reading would keep what waits for it, a batch of 16 MB,
 * for as long as it likes. Slow ones are waited for, as long as bytes move at all.
 */
import type { ServerResponse } from 'node:http';

/** How long nothing of an answer may have been taken. */
const STALLED_MS = 60_000;

/**
 * Cuts off an answer of which nothing has been taken for a while. It is the socket's own watch, which costs nothing for
 * each piece and is set anew when the answer has ended. A pause that the server makes itself does not count.
 */
export function endWhenStalled(answer: ServerResponse, ms = STALLED_MS): void {
  answer.setTimeout(ms, () => {
    if (answer.writableLength > 0) answer.destroy();
  });
}
