/**
 * Sends frames on one socket no faster than the server allows: it accepts a burst of a hundred messages and fifty per second, and
 * closes a connection that sends more. Without this, a client with two hundred live queries could never reconnect.
 */

/** Below the server's limit, to leave room for pongs and clock differences. */
const BURST = 60;
const EACH_MS = 25;
const PAUSE_MS = 250;

export class OutgoingFrameThrottle {
  readonly #write: (text: string) => void;
  #waiting: string[] = [];
  #credit = BURST;
  #countedAt = performance.now();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Sends a frame: now, or after the queued frames. */
  send(frame: object): void {
    this.#waiting.push(JSON.stringify(frame));
    this.#flush();
  }

  /** Drops all queued frames. */
  end(): void {
    this.#waiting = [];
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #flush(): void {
    const now = performance.now();
    this.#credit = Math.min(BURST, this.#credit + (now - this.#countedAt) / EACH_MS);
    this.#countedAt = now;
    const count = Math.min(this.#waiting.length, Math.floor(this.#credit));
    this.#credit -= count;
    for (const text of this.#waiting.splice(0, count)) this.#write(text);
    if (this.#waiting.length === 0 || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#flush();
    }, PAUSE_MS);
  }
}
