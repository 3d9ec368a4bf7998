/**
 * The isolates of the runner: one for each bundle and group of calls that share contexts, the least recently used replaced first.
 * Also the limits of running code.
 */
import type { BundleFiles } from './modules.ts';
import { BundleIsolate } from './plugin-isolate.ts';
import type { RunnerCall, SendFrame } from './runner-call.ts';

const MAX_ISOLATES = 64;
/** Megabytes of the whole runner above which idle isolates are disposed of: well below the limit of the runner. */
const RELIEF_MB = 320;
/** Idle time after which an isolate is disposed of, in milliseconds. */
const UNUSED_MS = 120_000;
/** Interval of checks for idle isolates, in milliseconds. */
const CLEANUP_MS = 10_000;
/** Interval of checks of running code, in milliseconds. */
const WATCH_MS = 10;
/** Idle checks before the interval timer stops. */
const SLEEP_AFTER = 20;
/** Grace period for code to stop after its isolate was disposed of, in milliseconds. */
const STUCK_MS = 250;

/** An entry at a check: nanoseconds of CPU of its call, and of the whole process. */
interface Seen {
  readonly startedAt: number;
  readonly cpu: number;
  readonly program: number;
}

export class IsolatePool {
  readonly #send: SendFrame;
  /** By heap size, group and bundle; the most recently used last. */
  readonly #byKey = new Map<string, BundleIsolate>();
  /** All in which code may run, including those that accept no more calls. */
  readonly #live = new Set<BundleIsolate>();
  /** Calls whose code did not stop, and since when. */
  readonly #stuck = new Map<RunnerCall, number>();
  #watch: NodeJS.Timeout | null = null;
  #quiet = 0;
  #busy = '';
  /** The running entries at the last check. */
  #seen = new Map<BundleIsolate, Seen>();

  constructor(send: SendFrame) {
    this.#send = send;
    setInterval(() => this.#retireIdle(), CLEANUP_MS).unref();
  }

  call(call: RunnerCall, bundle: string, files: BundleFiles): void {
    const { limits, group } = call.message;
    const key = `${limits.heapMb} ${JSON.stringify(group)} ${bundle}`;
    const isolate = this.#byKey.get(key) ?? this.#make(key, call, files);
    this.#byKey.delete(key);
    this.#byKey.set(key, isolate);
    this.#quiet = 0;
    this.#watch ??= setInterval(() => this.#look(), WATCH_MS);
    isolate.call(call);
  }

  /** Disposes of the isolates of an unloaded bundle. */
  drop(bundle: string): void {
    for (const [key, isolate] of [...this.#byKey]) if (key.endsWith(` ${bundle}`)) isolate.retire();
  }

  #make(key: string, { message }: RunnerCall, files: BundleFiles): BundleIsolate {
    if (this.#byKey.size >= MAX_ISOLATES) {
      this.#longestUnused()?.retire();
    }
    const isolate: BundleIsolate = new BundleIsolate({
      files,
      file: message.file,
      heapMb: message.limits.heapMb,
      reusesContexts: message.group !== null,
      onGone: () => {
        if (this.#byKey.get(key) === isolate) this.#byKey.delete(key);
      },
      onCatastrophe: () => {
        const call = isolate.running?.call ?? isolate.isStuck;
        if (call !== null) this.#send({ type: 'wedged', call: call.message.call, why: 'memory' });
      },
    });
    this.#live.add(isolate);
    return isolate;
  }

  #longestUnused(): BundleIsolate | undefined {
    return [...this.#byKey.values()].find((each) => !each.isBusy);
  }

  /** Idle contexts, and remains of used ones, must not hold memory for long. */
  #retireIdle(): void {
    const since = performance.now() - UNUSED_MS;
    for (const isolate of [...this.#byKey.values()]) {
      if (!isolate.isBusy && isolate.usedAt < since) isolate.retire();
      else isolate.releaseUnused();
    }
  }

  /** Ends calls that have used up their CPU time, and reports long-running ones to the server. */
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
      // While an entry runs, isolated-vm counts wall time. The CPU time cannot exceed that of the whole process.
      const cpu = seen.cpu + Math.min(Number(running.cpu) - seen.cpu, program - seen.program);
      const { cpuMs } = call.message.limits;
      if (cpu / 1e6 > cpuMs) isolate.end(call, `The function used more than ${cpuMs} ms of CPU`);
    }
    this.#seen = seenNow;
    for (const call of [...this.#stuck.keys()]) {
      if (![...this.#live].some((isolate) => isolate.isStuck === call)) this.#stuck.delete(call);
    }
    if (process.memoryUsage.rss() > RELIEF_MB * 1_048_576) this.#longestUnused()?.retire();
    this.#report(busy.sort((a, b) => a.startedAt - b.startedAt).map(({ call }) => call));
    this.#quiet = busy.length > 0 || this.#stuck.size > 0 ? 0 : this.#quiet + 1;
    if (this.#quiet < SLEEP_AFTER || [...this.#live].some((isolate) => isolate.isBusy)) return;
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#watch = null;
  }

  #isStuck(call: RunnerCall, now: number): void {
    const since = this.#stuck.get(call);
    if (since === undefined) this.#stuck.set(call, now);
    else if (now - since > STUCK_MS) {
      this.#send({ type: 'wedged', call: call.message.call, why: 'time' });
      this.#stuck.set(call, Number.POSITIVE_INFINITY);
    }
  }

  #report(busy: string[]): void {
    const text = busy.join(' ');
    if (text === this.#busy) return;
    this.#busy = text;
    this.#send({ type: 'busy', calls: busy });
  }
}
