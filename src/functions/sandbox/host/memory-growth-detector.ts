/**
 * Compares the memory growth of a runner with the limits of its calls: tells whether one of them exceeded its limit before the
 * system ended the runner.
 */
import type { LiveCall } from './live-call.ts';

/** Code has used up its CPU time by then, so its memory has grown within two such periods. */
const PERIOD_MS = 1_000;
/** Bytes that an isolate needs in addition to the heap of a call: contexts and compiled code. */
const ISOLATE_BYTES = 48 * 1_048_576;
/** Growth of a runner independent of its calls, in bytes. */
const OWN_BYTES = 32 * 1_048_576;

interface Period {
  readonly startedAt: number;
  /** The smallest number of bytes observed in it. */
  lowest: number;
  /** Bytes that the calls in each isolate may use. */
  readonly allowed: Map<string, number>;
}

export class MemoryGrowth {
  #before: Period | null = null;
  #now: Period | null = null;
  #last = 0;

  /** @param bytes of the runner's memory */
  note(bytes: number, calls: Iterable<LiveCall>): void {
    const at = performance.now();
    if (this.#now === null || at - this.#now.startedAt > PERIOD_MS) {
      this.#before = this.#now;
      this.#now = { startedAt: at, lowest: bytes, allowed: new Map() };
    }
    this.#now.lowest = Math.min(this.#now.lowest, bytes);
    this.#last = bytes;
    for (const { call } of calls) {
      // One isolate per heap size, group and bundle.
      const isolate = `${call.limits.heapMb} ${JSON.stringify(call.group)} ${call.bundle.id}`;
      this.#now.allowed.set(isolate, call.limits.heapMb * 1_048_576 + ISOLATE_BYTES);
    }
  }

  /** Whether the last growth exceeds the sum of the limits of all calls in that time. */
  get isExcessive(): boolean {
    const periods = [this.#before, this.#now].filter((period) => period !== null);
    const lowest = Math.min(...periods.map((period) => period.lowest));
    const allowed = new Map(periods.flatMap((period) => [...period.allowed]));
    const sum = [...allowed.values()].reduce((total, bytes) => total + bytes, OWN_BYTES);
    return periods.length > 0 && this.#last - lowest > sum;
  }
}
