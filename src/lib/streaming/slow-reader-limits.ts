/**
 * Long responses in progress: their memory is counted for each client and in total, and each must be read at a minimum
 * rate. Without both, slow clients could hold any amount of memory for as long as they like.
 */
import type { ServerResponse } from 'node:http';
import type { ByteBudget } from '../memory/byte-budget.ts';

/**
 * The window in which the rate is measured, and how many bytes the client must read in it: about 1 KB/s, as for
 * uploads. A socket counts a chunk only after all of it was read, so a shorter window would cut off readers that are
 * merely slow.
 */
const WINDOW_MS = 30_000;
const WINDOW_BYTES = 32_768;

export interface OpenResponsesDeps {
  /** Counts the memory held for clients, including realtime. */
  readonly budget: ByteBudget;
  /** For tests. */
  readonly pace?: MinimumReadRate;
}

export interface MinimumReadRate {
  readonly windowMs: number;
  readonly windowBytes: number;
}

/** One long response in progress; it ends when its response closes. */
export interface OpenResponse {
  /** Sets how many bytes it holds. @throws MillraceError as `begin` */
  resize(bytes: number): void;
}

export class OpenResponses {
  readonly #deps: OpenResponsesDeps;

  constructor(deps: OpenResponsesDeps) {
    this.#deps = deps;
  }

  /**
   * Counts a response until it closes, and cuts it off if it is read too slowly.
   * @param client the key it is counted for: a principal, or the network of an anonymous client
   * @param bytes its size in memory
   * @throws MillraceError `client-memory-exceeded`, `overloaded`
   */
  begin(response: ServerResponse, client: string, bytes: number): OpenResponse {
    const { budget, pace } = this.#deps;
    let held = 0;
    let ended = false;
    const resize = (next: number): void => {
      // A batch may still arrive for a response that has ended.
      if (ended) return;
      if (next > held) budget.require(client, next - held);
      budget.note(client, next - held);
      held = next;
    };
    resize(bytes);
    const stop = holdResponseToPace(response, pace);
    const end = (): void => {
      stop();
      resize(0);
      ended = true;
    };
    // The client may have disconnected already; then no `close` event follows.
    if (response.closed) end();
    else response.once('close', end);
    return { resize };
  }
}

/**
 * Cuts off a response if bytes waited for the client during a whole window and it read less than the minimum. Pauses of
 * the server itself do not count.
 * @returns a function that ends the watch
 */
function holdResponseToPace(
  response: ServerResponse,
  { windowMs, windowBytes }: MinimumReadRate = { windowMs: WINDOW_MS, windowBytes: WINDOW_BYTES },
): () => void {
  const taken = () => (response.socket?.bytesWritten ?? 0) - (response.socket?.writableLength ?? 0);
  let before = taken();
  let waited = false;
  const timer = setInterval(() => {
    const now = taken();
    const waits = response.writableLength > 0;
    // If bytes waited at the beginning and at the end of the window, the delay was the reader's.
    if (waits && waited && now - before < windowBytes) response.destroy();
    waited = waits;
    before = now;
  }, windowMs);
  return () => clearInterval(timer);
}
