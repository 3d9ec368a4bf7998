/** Limits the messages per second of one socket by a token bucket. */

const BURST = 100;

export class MessageRateLimiter {
  readonly #perSecond: number;
  #tokens = BURST;
  #at = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Takes the token of one message. False if the client sends too many. */
  take(): boolean {
    const now = performance.now();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#at) * this.#perSecond) / 1_000);
    this.#at = now;
    this.#tokens -= 1;
    return this.#tokens >= 0;
  }
}
