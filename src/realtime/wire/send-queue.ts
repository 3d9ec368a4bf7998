/**
 * What waits to be written to one client, and how much that is. Chunks of one turn of the event loop leave in one write.
 * When more than a client may keep waiting has come together, its owner is told and stops; when all is written, it is
 * told again.
 */

/** The part of a socket or of a response that is needed here. */
export interface Writable {
  readonly writableLength: number;
  readonly writable: boolean;
  cork(): void;
  uncork(): void;
  write(chunk: Buffer): boolean;
  on(event: 'drain', listener: () => void): unknown;
}

/** Bytes that may wait before a client is no longer pushed to. */
const FULL_BYTES = 1024 * 1024;
/** Bytes that may wait while a client is sent what it missed. */
const PACED_BYTES = 256 * 1024;

export class Outlet {
  readonly #to: Writable;
  readonly #turns: Turns;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isFull = false;
  readonly #ready = new Set<() => void>();
  #closed = false;
  /** When something was last sent, in milliseconds of the monotonic clock. */
  sentAt = performance.now();
  /** Told when too much waits, and when all of it is written. */
  onFull: () => void = () => {};
  onDrained: () => void = () => {};

  constructor(to: Writable, turns: Turns) {
    this.#to = to;
    this.#turns = turns;
    to.on('drain', () => this.#drained());
  }

  /** Bytes that have not left yet. */
  get queuedBytes(): number {
    return this.#waitingBytes + this.#to.writableLength;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  get closed(): boolean {
    return this.#closed;
  }

  push(chunk: Buffer): void {
    if (this.#closed) return;
    if (this.#waiting.length === 0) this.#turns.add(this);
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
  }

  /** Writes what waits; called once a turn. @param now monotonic milliseconds, asked once for many */
  flush(now = performance.now()): void {
    if (this.#waiting.length === 0) return;
    this.#waitingBytes = 0;
    if (!this.#to.writable) {
      this.#waiting.length = 0;
      return;
    }
    this.sentAt = now;
    // What a socket calls little is far from full.
    if (this.#write() || this.#isFull || this.#to.writableLength <= FULL_BYTES) return;
    this.#isFull = true;
    this.onFull();
  }

  /** Resolves when there is room for what was missed, or when nobody wants to write any more. */
  ready(wanted: AbortSignal): Promise<void> {
    const isReady = this.#closed || (!this.#isFull && this.queuedBytes < PACED_BYTES);
    if (isReady || wanted.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const go = () => {
        wanted.removeEventListener('abort', go);
        this.#ready.delete(go);
        resolve();
      };
      wanted.addEventListener('abort', go);
      this.#ready.add(go);
    });
  }

  /** Nothing is written from now on. */
  close(): void {
    this.#closed = true;
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    this.#release();
  }

  #write(): boolean {
    const waiting = this.#waiting;
    const last = waiting.pop();
    if (last === undefined) return true;
    if (waiting.length === 0) return this.#to.write(last);
    this.#to.cork();
    for (const chunk of waiting) this.#to.write(chunk);
    const takesMore = this.#to.write(last);
    this.#to.uncork();
    waiting.length = 0;
    return takesMore;
  }

  #drained(): void {
    const wasFull = this.#isFull;
    this.#isFull = false;
    if (wasFull) this.onDrained();
    this.#release();
  }

  #release(): void {
    for (const go of [...this.#ready]) go();
  }
}

/** Gathers what is pushed in one turn of the event loop. */
export class Turns {
  #outlets: Outlet[] = [];

  add(outlet: Outlet): void {
    if (this.#outlets.length === 0) setImmediate(() => this.flush());
    this.#outlets.push(outlet);
  }

  flush(): void {
    const outlets = this.#outlets;
    this.#outlets = [];
    const now = performance.now();
    for (const outlet of outlets) outlet.flush(now);
  }
}
