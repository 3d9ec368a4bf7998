/**
 * How much the memory of a runner has grown lately, compared with what the calls in it may use: tells whether one of them exceeded its
 * limit before the system ended the runner.
 */
import type { LiveCall } from './live-call.ts';

/** Code has used up its CPU by then, so its memory has grown within two such periods. */
const PERIOD_MS = 1_000;
/** Bytes that an isolate needs on top of the heap of a call: its contexts, and compiled code. */
const ISOLATE_BYTES = 48 * 1_048_576;
/** Bytes by which a runner may grow apart from its calls. */
const OWN_BYTES = 32 * 1_048_576;

interface Period {
  readonly startedAt: number;
  /** The smallest number of bytes seen in it. */
  lowest: number;
  /** Bytes that the calls of each bundle may use. */
  readonly allowed: Map<string, number>;
}

export class MemoryGrowth {
  #before: Period | null = null;
  #now: Period | null = null;
  #last = 0;

  /** @param bytes that the runner holds */
  note(bytes: number, calls: Iterable<LiveCall>): void {
    const at = performance.now();
    if (this.#now === null || at - this.#now.startedAt > PERIOD_MS) {
      this.#before = this.#now;
      this.#now = { startedAt: at, lowest: bytes, allowed: new Map() };
    }
    this.#now.lowest = Math.min(this.#now.lowest, bytes);
    this.#last = bytes;
    for (const { call } of calls) {
      // One isolate for each bundle and heap.
      const isolate = `${call.limits.heapMb} ${call.bundle.id}`;
      this.#now.allowed.set(isolate, call.limits.heapMb * 1_048_576 + ISOLATE_BYTES);
    }
  }

  /** Whether the last growth is more than what all calls of the time may use together. */
  get isExcessive(): boolean {
    const periods = [this.#before, this.#now].filter((period) => period !== null);
    const lowest = Math.min(...periods.map((period) => period.lowest));
    const allowed = new Map(periods.flatMap((period) => [...period.allowed]));
    const sum = [...allowed.values()].reduce((total, bytes) => total + bytes, OWN_BYTES);
    return periods.length > 0 && this.#last - lowest > sum;
  }
}
