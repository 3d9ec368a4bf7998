/**
 * The isolates of the runner: one for each bundle, the longest unused given up first, and the watch over what runs in them. Not here:
 * one isolate (bundle-isolate.ts).
 */
import { BundleIsolate } from './bundle-isolate.ts';
import type { HostedCall, Send } from './hosted-call.ts';
import type { BundleFiles } from './modules.ts';

const MAX_ISOLATES = 64;
/** Megabytes of the whole runner above which isolates that nobody uses just now are given up: well below what ends it. */
const RELIEF_MB = 320;
/** Milliseconds after its last call at which an isolate is given up. */
const UNUSED_MS = 120_000;
/** Milliseconds between two looks for such isolates. */
const SWEEP_MS = 10_000;
/** Milliseconds between two looks at what runs. */
const WATCH_MS = 10;
/** Looks without anything running until the watch sleeps. */
const SLEEP_AFTER = 20;
/** Milliseconds that code may go on after its isolate was disposed of. */
const STUCK_MS = 250;

/** An entry as a look found it: nanoseconds of CPU of its call, and of the whole program. */
interface Seen {
  readonly startedAt: number;
  readonly cpu: number;
  readonly program: number;
}

export class Isolates {
  readonly #send: Send;
  /** By bundle and heap; the one that was used last is the last. */
  readonly #byKey = new Map<string, BundleIsolate>();
  /** All in which something may run, also those that take no more calls. */
  readonly #live = new Set<BundleIsolate>();
  /** Calls whose code did not stop, and since when. */
  readonly #stuck = new Map<HostedCall, number>();
  #watch: NodeJS.Timeout | null = null;
  #quiet = 0;
  #busy = '';
  /** The entries that the last look found running. */
  #seen = new Map<BundleIsolate, Seen>();

  constructor(send: Send) {
    this.#send = send;
    setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  call(call: HostedCall, bundle: string, files: BundleFiles): void {
    const { limits, file } = call.message;
    const key = `${limits.heapMb} ${bundle}`;
    let isolate = this.#byKey.get(key);
    if (isolate === undefined) isolate = this.#make(key, files, file, limits.heapMb);
    this.#byKey.delete(key);
    this.#byKey.set(key, isolate);
    this.#quiet = 0;
    this.#watch ??= setInterval(() => this.#look(), WATCH_MS);
    isolate.call(call);
  }

  /** Gives up the isolates of a bundle that is not called any more. */
  drop(bundle: string): void {
    for (const [key, isolate] of [...this.#byKey]) if (key.endsWith(` ${bundle}`)) isolate.retire();
  }

  #make(key: string, files: BundleFiles, file: string, heapMb: number): BundleIsolate {
    if (this.#byKey.size >= MAX_ISOLATES) {
      this.#longestUnused()?.retire();
    }
    const isolate: BundleIsolate = new BundleIsolate(
      files,
      file,
      heapMb,
      () => {
        if (this.#byKey.get(key) === isolate) this.#byKey.delete(key);
      },
      () => {
        const call = isolate.running?.call ?? isolate.isStuck;
        if (call !== null) this.#send({ type: 'wedged', call: call.message.call, why: 'memory' });
      },
    );
    this.#live.add(isolate);
    return isolate;
  }

  #longestUnused(): BundleIsolate | undefined {
    return [...this.#byKey.values()].find((each) => !each.isBusy);
  }

  /** Contexts that wait for calls, and what is left of those that were used, must not hold memory for long. */
  #sweep(): void {
    const since = performance.now() - UNUSED_MS;
    for (const isolate of [...this.#byKey.values()]) if (!isolate.isBusy && isolate.usedAt < since) isolate.retire();
  }

  /** Ends what has used up its CPU, and tells the server what runs for long. */
  #look(): void {
    const now = performance.now();
    const busy: { readonly call: string; readonly startedAt: number }[] = [];
    const { user, system } = process.cpuUsage();
    const program = (user + system) * 1_000;
    const seenNow = new Map<BundleIsolate, Seen>();
    for (const isolate of this.#live) {
      const { running } = isolate;
      const stuck = isolate.isStuck;
      if (stuck !== null) this.#isStuck(stuck, now);
      if (running === null) {
        if (isolate.isSpent) this.#live.delete(isolate);
        continue;
      }
      const { call, startedAt } = running;
      if (now - startedAt > WATCH_MS) busy.push({ call: call.message.call, startedAt });
      const last = this.#seen.get(isolate);
      const seen = last?.startedAt === startedAt ? last : { startedAt, cpu: Number(running.cpu), program };
      seenNow.set(isolate, seen);
      // While an entry runs, isolated-vm counts by the clock. It cannot have had more than the whole program has.
      const cpu = seen.cpu + Math.min(Number(running.cpu) - seen.cpu, program - seen.program);
      const { cpuMs } = call.message.limits;
      if (cpu / 1e6 > cpuMs) isolate.end(call, `The function used more than ${cpuMs} ms of CPU`);
    }
    this.#seen = seenNow;
    for (const call of [...this.#stuck.keys()]) {
      if (![...this.#live].some((isolate) => isolate.isStuck === call)) this.#stuck.delete(call);
    }
    if (process.memoryUsage.rss() > RELIEF_MB * 1_048_576) this.#longestUnused()?.retire();
    this.#tell(busy.sort((a, b) => a.startedAt - b.startedAt).map(({ call }) => call));
    this.#quiet = busy.length > 0 || this.#stuck.size > 0 ? 0 : this.#quiet + 1;
    if (this.#quiet < SLEEP_AFTER || [...this.#live].some((isolate) => isolate.isBusy)) return;
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#watch = null;
  }

  #isStuck(call: HostedCall, now: number): void {
    const since = this.#stuck.get(call);
    if (since === undefined) this.#stuck.set(call, now);
    else if (now - since > STUCK_MS) {
      this.#send({ type: 'wedged', call: call.message.call, why: 'time' });
      this.#stuck.set(call, Number.POSITIVE_INFINITY);
    }
  }

  #tell(busy: string[]): void {
    const text = busy.join(' ');
    if (text === this.#busy) return;
    this.#busy = text;
    this.#send({ type: 'busy', calls: busy });
  }
}
