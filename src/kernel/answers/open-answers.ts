/**
 * Long answers that are being sent: the memory that they hold is counted for each client and in all, and each must be
 * read at a least rate. Without both, clients that read slowly could hold any amount of memory for as long as they
 * like. Not here: answers of one small piece, and streams of events, where silence is normal.
 */
import type { ServerResponse } from 'node:http';
import type { ByteBudget } from '../memory/byte-budget.ts';

/**
 * The window in which the rate is measured, and how many bytes the client must take in it: about 1 KB/s, as for
 * uploads. A socket counts a chunk only when all of it was taken, so a shorter window would cut off readers that are
 * merely slow.
 */
const WINDOW_MS = 30_000;
const WINDOW_BYTES = 32_768;

export interface OpenAnswersParts {
  /** Counts the memory held for clients, for live data too. */
  readonly budget: ByteBudget;
  /** For tests. */
  readonly pace?: Pace;
}

export interface Pace {
  readonly windowMs: number;
  readonly windowBytes: number;
}

/** One long answer that is being sent; it ends by itself when its response closes. */
export interface OpenAnswer {
  /**
   * Sets anew how many bytes it holds.
   * @throws MillraceError as `begin`
   */
  resize(bytes: number): void;
}

export class OpenAnswers {
  readonly #parts: OpenAnswersParts;

  constructor(parts: OpenAnswersParts) {
    this.#parts = parts;
  }

  /**
   * Counts an answer until its response closes, and cuts it off when it is read too slowly.
   * @param client the key it is counted for: a principal, or the network of an anonymous client
   * @param bytes what it holds in memory
   * @throws MillraceError `too-much-held`, `overloaded`
   */
  begin(answer: ServerResponse, client: string, bytes: number): OpenAnswer {
    const { budget, pace } = this.#parts;
    let held = 0;
    let ended = false;
    const resize = (next: number): void => {
      // A batch may still arrive for an answer that has ended.
      if (ended) return;
      if (next > held) budget.require(client, next - held);
      budget.note(client, next - held);
      held = next;
    };
    resize(bytes);
    const stop = holdAnswerToPace(answer, pace);
    const end = (): void => {
      stop();
      resize(0);
      ended = true;
    };
    // The client may have gone already; then no `close` event follows.
    if (answer.closed) end();
    else answer.once('close', end);
    return { resize };
  }
}

/**
 * Cuts off an answer when bytes waited for the client during a whole window and it took less than the least amount.
 * Pauses of the server itself do not count.
 * @returns a function that ends the watch
 */
function holdAnswerToPace(
  answer: ServerResponse,
  { windowMs, windowBytes }: Pace = { windowMs: WINDOW_MS, windowBytes: WINDOW_BYTES },
): () => void {
  const taken = () => (answer.socket?.bytesWritten ?? 0) - (answer.socket?.writableLength ?? 0);
  let before = taken();
  let waited = false;
  const timer = setInterval(() => {
    const now = taken();
    const waits = answer.writableLength > 0;
    // If bytes waited at the beginning and at the end of the window, the delay was the reader's.
    if (waits && waited && now - before < windowBytes) answer.destroy();
    waited = waits;
    before = now;
  }, windowMs);
  return () => clearInterval(timer);
}
