/**
 * Long answers that are being sent: what they hold in memory is counted for each client and in all, and each must be
 * read at a least rate. Without both, clients that read slowly would hold any amount for as long as they like. Not here:
 * answers of one small piece, and streams of events, which are silent rightly.
 */
import type { ServerResponse } from 'node:http';
import type { ByteBudget } from '../memory/byte-budget.ts';

/**
 * The window in which the rate is measured, and what must be taken in it: about 1 KB/s, as of uploads. A socket tells
 * only whole chunks as taken, so a shorter window would cut off readers that are merely slow.
 */
const WINDOW_MS = 30_000;
const WINDOW_BYTES = 32_768;

export interface OpenAnswersParts {
  /** What is held for clients, for live data too. */
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
   * Says anew what it holds, in bytes.
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
   * @param client the key it is counted for: a principal, or the network of a stranger
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
    // Its client may have gone already, and nothing would say so again.
    if (answer.closed) end();
    else answer.once('close', end);
    return { resize };
  }
}

/**
 * Cuts off an answer that waits for its reader through a whole window in which less than the least amount was taken. A
 * pause that the server makes itself does not count.
 * @returns ends the watch
 */
export function holdAnswerToPace(
  answer: ServerResponse,
  { windowMs, windowBytes }: Pace = { windowMs: WINDOW_MS, windowBytes: WINDOW_BYTES },
): () => void {
  const taken = () => (answer.socket?.bytesWritten ?? 0) - (answer.socket?.writableLength ?? 0);
  let before = taken();
  let waited = false;
  const timer = setInterval(() => {
    const now = taken();
    const waits = answer.writableLength > 0;
    // Only a window that begins and ends with waiting bytes was the reader's alone.
    if (waits && waited && now - before < windowBytes) answer.destroy();
    waited = waits;
    before = now;
  }, windowMs);
  return () => clearInterval(timer);
}
