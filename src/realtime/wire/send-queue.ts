/**
 * The bytes that wait to be written to one client. Chunks of one turn of the event loop are sent in one write. When
 * more than 1 MiB waits because the client reads too slowly, `onFull` is called and its subscriptions stop pushing;
 * when all is written, `onDrained` is called. The waiting bytes count against the client's memory budget.
 */
import { Semaphore } from '../../lib/concurrency/semaphore.ts';
import type { MemoryAccount } from '../../lib/memory/byte-budget.ts';

/** The part of a socket or of a response that is used here. */
export interface WritableConnection {
  readonly writableLength: number;
  readonly writable: boolean;
  cork(): void;
  uncork(): void;
  write(chunk: Buffer): boolean;
  on(event: 'drain', listener: () => void): unknown;
}

/** A chunk that several clients share, as offsets in everything that was pushed to one client. */
interface SharedChunk {
  readonly from: number;
  readonly to: number;
  /** Called once, when they have left or the connection is closed. */
  readonly release: () => void;
}

/** When more bytes than this wait, nothing more is pushed to the client. */
const FULL_BYTES = 1024 * 1024;
/**
 * When one turn adds more bytes than this, nothing more is pushed in that turn, even if the connection could take it.
 */
const TURN_BYTES = 8 * FULL_BYTES;
/** Bytes that may wait during a snapshot, or while missed changes are sent. */
const PACED_BYTES = 256 * 1024;
/** Results of one client that are read and sent concurrently: each holds a batch of the database in memory. */
const PACED_AT_ONCE = 2;

export class SendQueue {
  readonly #to: WritableConnection;
  readonly #turns: FlushScheduler;
  /** The memory budget of this client. */
  readonly account: MemoryAccount;
  readonly #paced = new Semaphore(PACED_AT_ONCE, Number.POSITIVE_INFINITY);
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Bytes of these that were encoded for this client alone. */
  #own = 0;
  /** Bytes pushed so far, and the shared chunks among them that may still wait. */
  #pushed = 0;
  #shared: SharedChunk[] = [];
  /** Bytes in the connection's buffer that count against the budget. */
  #counted = 0;
  /** Whether this turn has exceeded the limits of the budget. */
  #strained = false;
  #isFull = false;
  readonly #ready = new Set<() => void>();
  #closed = false;
  /** When something was last sent, in milliseconds of the monotonic clock. */
  sentAt = performance.now();
  /** Called when too much waits, and when all of it is written. */
  onFull: () => void = () => {};
  onDrained: () => void = () => {};

  constructor(to: WritableConnection, turns: FlushScheduler, account: MemoryAccount) {
    this.account = account;
    this.#to = to;
    this.#turns = turns;
    to.on('drain', () => this.#drained());
  }

  /** Unsent bytes. */
  get queuedBytes(): number {
    return this.#waitingBytes + this.#to.writableLength;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Whether more can be pushed in this turn. */
  get hasRoom(): boolean {
    return this.#waitingBytes <= TURN_BYTES && !this.#strained;
  }

  /** Whether this many bytes, encoded for this client alone, can be pushed in this turn. */
  takes(bytes: number): boolean {
    return this.#waitingBytes + bytes <= TURN_BYTES && this.account.hasRoom(bytes);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** @param own bytes of the chunk that were encoded for this client, and not earlier for another one */
  push(chunk: Buffer, own = chunk.length): void {
    if (this.#closed) return;
    if (this.#waiting.length === 0) this.#turns.add(this);
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#pushed += chunk.length;
    if (own > 0) this.#spend(own);
  }

  /**
   * Pushes a chunk that several clients share and that is counted elsewhere, however long it waits here.
   * @param release called once, when the chunk has left or the connection is closed
   */
  pushShared(chunk: Buffer, release: () => void): void {
    if (this.#closed) {
      release();
      return;
    }
    this.#shared.push({ from: this.#pushed, to: this.#pushed + chunk.length, release });
    this.push(chunk, 0);
  }

  #spend(own: number): void {
    this.#own += own;
    this.account.note(own);
    this.#strained = !this.account.hasRoom(0);
  }

  #unspend(): void {
    if (this.#own > 0) this.account.note(-this.#own);
    this.#own = 0;
    this.#strained = false;
  }

  /** Writes the waiting bytes; called once a turn. @param now monotonic milliseconds, read once for many queues */
  flush(now = performance.now()): void {
    if (this.#waiting.length === 0) return;
    this.#waitingBytes = 0;
    this.#unspend();
    if (!this.#to.writable) {
      this.#waiting.length = 0;
      return;
    }
    this.sentAt = now;
    const takesMore = this.#write();
    // The socket is below its own high-water mark, which is far below FULL_BYTES.
    if (takesMore && this.#shared.length === 0) return;
    const queued = this.#to.writableLength;
    const shared = this.#settleShared(queued);
    if (takesMore) return;
    this.#count(Math.max(0, queued - shared));
    // Also full if other connections of the same principal use all of its memory.
    if (this.#isFull || (queued <= FULL_BYTES && this.account.hasRoom(0))) return;
    this.#isFull = true;
    this.onFull();
  }

  /** Runs a task that reads and sends a result or a part of it; few such tasks of this client run concurrently. */
  paced<T>(task: () => Promise<T>): Promise<T> {
    return this.#paced.run(task);
  }

  /**
   * Resolves when there is room for a snapshot or missed changes, or when `requested` is aborted.
   * @throws MillraceError `client-memory-exceeded`, `overloaded` when the client's budget is at its limit
   */
  async ready(requested: AbortSignal): Promise<void> {
    // Checked again after each wait: other waiting tasks may have filled the room.
    while (!this.isReady && !requested.aborted) await this.#drainedOr(requested);
    if (!requested.aborted && !this.#closed) this.account.require(0);
  }

  /** Whether there is room for a snapshot or missed changes. */
  get isReady(): boolean {
    return this.#closed || (!this.#isFull && this.queuedBytes < PACED_BYTES);
  }

  #drainedOr(requested: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        requested.removeEventListener('abort', go);
        this.#ready.delete(go);
        resolve();
      };
      requested.addEventListener('abort', go);
      this.#ready.add(go);
    });
  }

  /** Nothing is written from now on. */
  close(): void {
    this.#closed = true;
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    this.#unspend();
    this.#count(0);
    for (const { release } of this.#shared) release();
    this.#shared = [];
    this.#release();
  }

  /** Releases the shared chunks that have left. @returns how many of the unsent bytes are shared */
  #settleShared(unsent: number): number {
    const sent = this.#pushed - unsent;
    while ((this.#shared[0]?.to ?? Number.POSITIVE_INFINITY) <= sent) this.#shared.shift()?.release();
    return this.#shared.reduce((bytes, { from, to }) => bytes + to - Math.max(from, sent), 0);
  }

  #count(bytes: number): void {
    if (bytes === this.#counted) return;
    this.account.note(bytes - this.#counted);
    this.#counted = bytes;
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
    const queued = this.#closed ? 0 : this.#to.writableLength;
    const shared = this.#settleShared(queued + this.#waitingBytes);
    this.#count(Math.max(0, queued - shared));
    const wasFull = this.#isFull;
    this.#isFull = false;
    if (wasFull) this.onDrained();
    this.#release();
  }

  #release(): void {
    for (const go of [...this.#ready]) go();
  }
}

/** Flushes all send queues that were pushed to in one turn of the event loop, at its end. */
export class FlushScheduler {
  #queues: SendQueue[] = [];

  add(queue: SendQueue): void {
    if (this.#queues.length === 0) setImmediate(() => this.flush());
    this.#queues.push(queue);
  }

  flush(): void {
    const queues = this.#queues;
    this.#queues = [];
    const now = performance.now();
    for (const queue of queues) queue.flush(now);
  }
}
