/**
 * One isolate with the code of one bundle, in which calls share contexts or have one each. After a number of contexts, or when
 * too much of its memory is in use, a new isolate replaces it.
 */
import { setFlagsFromString } from 'node:v8';
import ivm from 'isolated-vm';
import { BOOT_SCRIPT, BOOT_SCRIPT_NAME } from '../isolate/boot-script.ts';
import type { BundleContext } from './bundle-context.ts';
import { ContextPool } from './context-pool.ts';
import { IsolateMutex } from './isolate-mutex.ts';
import type { BundleFiles } from './modules.ts';
import type { RunnerCall } from './runner-call.ts';

/** Contexts per isolate before it is replaced: about 200 kB of each remain allocated until then. */
const MAX_CONTEXTS = 100;
/** Milliseconds after which contexts are created in advance although calls are running. */
const REFILL_MS = 10;
/** Rejections that one entry of a call may leave behind. */
const MAX_LEFT_REJECTIONS = 4;
/** Megabytes for contexts and what calls leave in them, in addition to the limit of one call. */
const CONTEXTS_MB = 48;

/**
 * Megabytes that an isolate fills before V8 first marks its whole heap: more than all its contexts take, so that they are freed
 * with the isolate instead. By default V8 starts at a few megabytes, and repeats it every few dozen contexts: half of the cost of
 * a call.
 */
const FIRST_COLLECTION_MB = 32;

/** A context with the bootstrap program, from which all contexts are created. */
let snapshot: ivm.ExternalCopy<ArrayBuffer> | null = null;

export interface BundleIsolateOptions {
  readonly files: BundleFiles;
  /** The file of the first call. */
  readonly file: string;
  /** Megabytes of heap that a call may use. */
  readonly heapMb: number;
  /** Whether a context serves further calls. */
  readonly reusesContexts: boolean;
  /** It accepts no more calls: create another one. */
  readonly onGone: () => void;
  readonly onCatastrophe: () => void;
}

export class BundleIsolate {
  readonly #isolate: ivm.Isolate;
  readonly #contexts: ContextPool;
  readonly #entries: IsolateMutex;
  readonly #calls = new Set<RunnerCall>();
  readonly #onGone: () => void;
  /** Time of the last call, by `performance.now()`. */
  usedAt = performance.now();
  #lastCpu = 0n;
  #requested: string;
  #later: NodeJS.Timeout | null = null;
  #isRetired = false;
  #isGone = false;
  /** Ends the guilty call. */
  #verdict: (() => void) | null = null;

  constructor({ files, file, heapMb, reusesContexts, onGone, onCatastrophe }: BundleIsolateOptions) {
    this.#requested = file;
    this.#onGone = onGone;
    if (snapshot === null) setFlagsFromString(`--initial-old-space-size=${FIRST_COLLECTION_MB}`);
    snapshot ??= ivm.Isolate.createSnapshot([{ code: BOOT_SCRIPT, filename: BOOT_SCRIPT_NAME }]);
    const memoryLimit = heapMb + CONTEXTS_MB;
    this.#isolate = new ivm.Isolate({ memoryLimit, snapshot, onCatastrophicError: onCatastrophe });
    this.#contexts = new ContextPool(this.#isolate, files, reusesContexts);
    this.#entries = new IsolateMutex(
      () => this.#cpuTime(),
      () => this.#idle(),
    );
  }

  get isBusy(): boolean {
    return this.#calls.size > 0;
  }

  /** The call whose code is running, and for how long. */
  get running(): { readonly call: RunnerCall; readonly cpu: bigint; readonly startedAt: number } | null {
    const { current } = this.#entries;
    if (current === null || current.call === null || this.#isGone) return null;
    return { call: current.call, cpu: current.call.cpu + this.#cpuUnderWay(), startedAt: current.startedAt };
  }

  #cpuUnderWay(): bigint {
    const { current } = this.#entries;
    return current === null ? 0n : this.#cpuTime() - current.cpuAt;
  }

  /** Nanoseconds; for a disposed isolate the last measured value. */
  #cpuTime(): bigint {
    if (!this.#isolate.isDisposed) this.#lastCpu = this.#isolate.cpuTime;
    return this.#lastCpu;
  }

  call(call: RunnerCall): void {
    this.usedAt = performance.now();
    this.#calls.add(call);
    const { file } = call.message;
    this.#requested = file;
    let context: BundleContext | null = null;
    let hasLeft = false;
    const isMine = () => this.#entries.current?.call === call;
    const canRun = () => !call.hasEnded && !this.#isGone;
    const giveBack = () => {
      if (context !== null) this.#giveBack(context);
      context = null;
    };
    const enter = (run: (context: BundleContext) => Promise<unknown>, prepare?: () => Promise<void> | null) =>
      this.#entries.enter({
        call,
        ...(prepare && { prepare }),
        run: () => (canRun() && context !== null ? this.#settled(call, run(context)) : null),
        ended: (error) => {
          this.#entered(call, context, error);
          if (hasLeft) giveBack();
        },
      });
    call.attach({
      response: (number, ok, text) =>
        enter((own) => {
          call.delivered();
          return own.respond(number, ok, text);
        }),
      woken: () => enter((own) => own.wake()),
      leave: (isClear) => {
        hasLeft = true;
        this.#calls.delete(call);
        if (!isClear && context !== null) context.isUnclear = true;
        if (isMine()) return;
        giveBack();
        if (this.#entries.current === null) this.#idle();
      },
      interrupt: (why) => {
        if (isMine()) this.end(call, why);
        else call.fail('function-timeout', why);
      },
      cpuUnderWay: () => (isMine() ? this.#cpuUnderWay() : 0n),
    });
    enter(
      (own) => own.begin(call),
      () => {
        if (!canRun()) return null;
        context = this.#contexts.take(file);
        return context === null
          ? this.#contexts.create(file).then((created) => {
              context = created;
            })
          : null;
      },
    );
  }

  /**
   * A task that threw can leave a rejection behind, which V8 reports at the end of the next task in the isolate: those tasks run
   * here, while the entry still belongs to the call.
   */
  async #settled(call: RunnerCall, running: Promise<unknown>): Promise<void> {
    try {
      await running;
    } catch (error) {
      for (let left = MAX_LEFT_REJECTIONS; left > 0 && !this.#isolate.isDisposed; left -= 1) {
        if (await this.#hasNoRejection()) throw error;
      }
      this.end(call, 'The function rejects promises without end');
      throw error;
    }
  }

  async #hasNoRejection(): Promise<boolean> {
    try {
      await this.#isolate.getHeapStatistics();
      return true;
    } catch {
      return false;
    }
  }

  #entered(call: RunnerCall, context: BundleContext | null, error: unknown): void {
    if (this.#isGone) {
      this.#verdict?.();
      return;
    }
    if (this.#isolate.isDisposed) {
      const message = context === null ? 'The function does not fit into its memory' : call.overMemory;
      this.#die(call, 'function-out-of-memory', message);
    } else if (error !== undefined) {
      // Also an unhandled rejection: the call goes on, as the end of the function is posted.
      if (context !== null) context.isUnclear = true;
      if (!context?.isEvaluated) call.failWith(error, context !== null);
    }
  }

  /** A call has left, and none of its code runs. */
  #giveBack(context: BundleContext): void {
    this.#contexts.giveBack(context);
    if (this.#contexts.created >= MAX_CONTEXTS || this.#isFull()) this.retire();
  }

  /** Whether what calls left in it would take from the memory of the next one. Takes about 5 µs. */
  #isFull(): boolean {
    if (this.#isGone || this.#entries.current !== null) return false;
    try {
      const { used_heap_size: heap, externally_allocated_size: outside } = this.#isolate.getHeapStatisticsSync();
      return heap + outside > CONTEXTS_MB * 1_048_576;
    } catch {
      return true;
    }
  }

  /**
   * Ends all code in the isolate because of `guilty`, whose code is running. The other calls in it fail. The guilty call ends
   * when its code has stopped; if it does not stop, the server has to know whose code it is.
   */
  end(guilty: RunnerCall, message: string): void {
    if (!this.#isGone) this.#die(guilty, 'function-timeout', message);
  }

  #die(guilty: RunnerCall, code: 'function-timeout' | 'function-out-of-memory', message: string): void {
    this.#isGone = true;
    this.#onGone();
    if (this.#entries.current?.call === guilty) this.#verdict = () => guilty.fail(code, message);
    else guilty.fail(code, message);
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
    for (const call of [...this.#calls]) {
      if (call !== guilty)
        call.fail('function-runtime-restarted', 'Another call of the plugin ended the isolate of this call');
    }
    this.#contexts.clear();
  }

  /** Whether an entry still runs although the isolate is disposed of: V8 could not stop it. */
  get isStuck(): RunnerCall | null {
    return this.#isGone ? (this.#entries.current?.call ?? null) : null;
  }

  /** Whether no code runs in it, and none will. */
  get isSpent(): boolean {
    return this.#isGone && this.#entries.current === null;
  }

  /** Accepts no more calls, and ends itself after its running calls. */
  retire(): void {
    if (this.#isRetired || this.#isGone) return;
    this.#isRetired = true;
    this.#onGone();
    this.#idle();
  }

  /** Releases contexts that were not used for a while. */
  releaseUnused(): void {
    if (!this.#isGone) this.#contexts.releaseUnused();
  }

  #idle(): void {
    if (this.#isGone || this.#entries.current !== null || this.#entries.length > 0) return;
    if (this.#isRetired) {
      if (this.#calls.size > 0) return;
      this.#isGone = true;
      this.#contexts.clear();
      this.#isolate.dispose();
      return;
    }
    // A running call most likely waits for its host: creating a context now would delay its response.
    if (this.#calls.size > 0) this.#later ??= setTimeout(() => this.#refill(), REFILL_MS);
    else this.#refill();
  }

  /** Creates another context in advance, unless there are enough. */
  #refill(): void {
    if (this.#later !== null) clearTimeout(this.#later);
    this.#later = null;
    if (this.#isGone || this.#isRetired || this.#entries.current !== null || this.#entries.length > 0) return;
    const file = this.#requested;
    if (!this.#contexts.isShortOf(file)) return;
    this.#entries.enter({ call: null, run: () => this.#contexts.createInAdvance(file), ended: () => undefined });
  }
}
