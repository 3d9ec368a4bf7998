/**
 * One isolate with the code of one bundle. Every call gets a context of its own, made before it is needed, and never used again; after
 * enough of them the isolate is given up for a new one. Not here: which isolates there are (isolates.ts).
 */
import { setFlagsFromString } from 'node:v8';
import ivm, { type Context, type Dereference, type Module, type Reference } from 'isolated-vm';
import { address } from './address.ts';
import { Entries } from './entries.ts';
import type { HostedCall } from './hosted-call.ts';
import { BOOT_NAME, BOOT_SCRIPT, TAKE_SCRIPT } from './inside/boot-script.ts';
import { type BundleFiles, type CompiledCode, compileGraph, type Graph, linkGraph } from './modules.ts';

/** Contexts that an isolate makes before it is given up: about 200 kB of each stay until then. */
const MAX_CONTEXTS = 100;
/** Part of the heap that may be used before the isolate is given up. */
const FULL = 0.6;
/** Contexts between two looks at the heap. */
const LOOK_EVERY = 20;
/** Prepared contexts for each file that is called, and for all of them. */
const READY_EACH = 2;
const READY_ALL = 6;
/** Milliseconds after which contexts are made in advance although calls are under way. */
const REFILL_MS = 10;
/** Megabytes for the contexts of calls that run beside each other, on top of what one call may use. */
const CONTEXTS_MB = 48;

/**
 * Megabytes that an isolate fills before V8 marks its whole heap for the first time: more than all its contexts take, so that they go
 * with the isolate instead. By itself V8 begins at a few megabytes, and does it again every few dozen contexts: half of what a call cost.
 */
const FIRST_COLLECTION_MB = 32;

/** A context with the program in it, from which all contexts are made. */
let snapshot: ivm.ExternalCopy<ArrayBuffer> | null = null;

/** What goes into an isolate. */
type Given = string | number | boolean | Dereference<unknown>;

/** A context in which nothing of the author has run yet. */
interface Prepared {
  readonly file: string;
  readonly context: Context;
  readonly graph: Graph;
  readonly root: Module;
  readonly receive: Reference;
  /** Whose context it is; what is posted goes there. */
  readonly owner: { call: HostedCall | null };
  isReleased: boolean;
}

export class BundleIsolate {
  readonly #isolate: ivm.Isolate;
  readonly #files: BundleFiles;
  readonly #code: CompiledCode = new Map();
  readonly #entries: Entries;
  readonly #ready: Prepared[] = [];
  readonly #calls = new Set<HostedCall>();
  readonly #onGone: () => void;
  /** When it was called last, by `performance.now()`. */
  usedAt = performance.now();
  #take: ivm.Script | null = null;
  #made = 0;
  #lastCpu = 0n;
  #wanted: string;
  #later: NodeJS.Timeout | null = null;
  #isRetired = false;
  #isGone = false;
  /** Ends the guilty call. */
  #verdict: (() => void) | null = null;

  /**
   * @param heapMb megabytes of heap that a call may use
   * @param onGone it takes no more calls: another one has to be made
   */
  constructor(files: BundleFiles, file: string, heapMb: number, onGone: () => void, onCatastrophe: () => void) {
    this.#files = files;
    this.#wanted = file;
    this.#onGone = onGone;
    if (snapshot === null) setFlagsFromString(`--initial-old-space-size=${FIRST_COLLECTION_MB}`);
    snapshot ??= ivm.Isolate.createSnapshot([{ code: BOOT_SCRIPT, filename: BOOT_NAME }]);
    const memoryLimit = heapMb + CONTEXTS_MB;
    this.#isolate = new ivm.Isolate({ memoryLimit, snapshot, onCatastrophicError: onCatastrophe });
    this.#entries = new Entries(
      () => this.#cpuTime(),
      () => this.#idle(),
    );
  }

  get isBusy(): boolean {
    return this.#calls.size > 0;
  }

  /** The call whose code runs just now, and for how long. */
  get running(): { readonly call: HostedCall; readonly cpu: bigint; readonly startedAt: number } | null {
    const { current } = this.#entries;
    if (current === null || current.call === null || this.#isGone) return null;
    return { call: current.call, cpu: current.call.cpu + this.#cpuUnderWay(), startedAt: current.startedAt };
  }

  #cpuUnderWay(): bigint {
    const { current } = this.#entries;
    return current === null ? 0n : this.#cpuTime() - current.cpuAt;
  }

  /** Nanoseconds; of an isolate that is disposed of what was seen last. */
  #cpuTime(): bigint {
    if (!this.#isolate.isDisposed) this.#lastCpu = this.#isolate.cpuTime;
    return this.#lastCpu;
  }

  call(call: HostedCall): void {
    this.usedAt = performance.now();
    this.#calls.add(call);
    const { file } = call.message;
    this.#wanted = file;
    const at = this.#ready.findIndex((prepared) => prepared.file === file);
    const prepared = at === -1 ? undefined : this.#ready.splice(at, 1)[0];
    if (prepared !== undefined) {
      this.#begin(call, prepared);
      return;
    }
    let made: Prepared | null = null;
    this.#entries
      .enter(null, async () => {
        made = await this.#prepare(file);
      })
      .then((error) => {
        if (this.#isGone) return;
        if (this.#isolate.isDisposed)
          this.#die(call, 'function-out-of-memory', 'The function does not fit into its memory');
        else if (made === null) call.failWith(error, false);
        else this.#begin(call, made);
      });
  }

  #begin(call: HostedCall, prepared: Prepared): void {
    prepared.owner.call = call;
    let left = false;
    const isMine = () => this.#entries.current?.call === call;
    const enter = (run: () => Promise<unknown>, atStart = false) => {
      this.#entries
        .enter(call, async () => {
          if (!call.hasEnded && !this.#isGone) await run();
        })
        .then((error) => this.#entered(call, error, atStart))
        .then(() => {
          if (left) this.#release(prepared);
        });
    };
    const receive = (...given: Given[]) => prepared.receive.apply(undefined, given);
    call.enters({
      answered: (number, ok, text) => enter(() => receive('answered', number, ok, text)),
      woken: () => enter(() => receive('woken')),
      leave: () => {
        left = true;
        this.#calls.delete(call);
        if (isMine()) return;
        this.#release(prepared);
        if (this.#entries.current === null) this.#idle();
      },
      interrupt: (why) => {
        if (isMine()) this.end(call, why);
        else call.fail('function-timeout', why);
      },
      cpuUnderWay: () => (isMine() ? this.#cpuUnderWay() : 0n),
    });
    enter(async () => {
      await prepared.root.evaluate();
      await receive('start', prepared.root.namespace.derefInto({ release: true }), call.job(), call.input).catch(
        (error: unknown) => {
          // A rejection that nobody handled comes out here too. It is of no meaning: the function's own end is posted.
          if (this.#isolate.isDisposed) throw error;
        },
      );
    }, true);
  }

  #entered(call: HostedCall, error: unknown, atStart: boolean): void {
    if (this.#isGone) {
      this.#verdict?.();
      return;
    }
    if (this.#isolate.isDisposed) {
      this.#die(call, 'function-out-of-memory', call.overMemory);
    } else if (atStart && error !== undefined) call.failWith(error, true);
  }

  /**
   * Ends what runs in the isolate because of `guilty`, whose code runs just now. The others in it cannot go on. The guilty call ends
   * when its code has stopped: should that not happen, the server has to know whose code it is.
   */
  end(guilty: HostedCall, message: string): void {
    if (!this.#isGone) this.#die(guilty, 'function-timeout', message);
  }

  #die(guilty: HostedCall, code: 'function-timeout' | 'function-out-of-memory', message: string): void {
    this.#isGone = true;
    this.#onGone();
    if (this.#entries.current?.call === guilty) this.#verdict = () => guilty.fail(code, message);
    else guilty.fail(code, message);
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
    for (const call of [...this.#calls]) {
      if (call !== guilty)
        call.fail('function-runtime-restarted', 'Another call of the plugin ended what ran beside it');
    }
    this.#ready.length = 0;
  }

  /** Whether an entry still runs although the isolate is disposed of: V8 could not stop it. */
  get isStuck(): HostedCall | null {
    return this.#isGone ? (this.#entries.current?.call ?? null) : null;
  }

  /** Whether nothing runs in it, and nothing will. */
  get isSpent(): boolean {
    return this.#isGone && this.#entries.current === null;
  }

  /** Takes no more calls, and ends itself after those that it has. */
  retire(): void {
    if (this.#isRetired || this.#isGone) return;
    this.#isRetired = true;
    this.#onGone();
    this.#idle();
  }

  #idle(): void {
    if (this.#isGone || this.#entries.current !== null || this.#entries.length > 0) return;
    if (this.#isRetired) {
      if (this.#calls.size > 0) return;
      this.#isGone = true;
      this.#ready.length = 0;
      this.#isolate.dispose();
      return;
    }
    // A call that is under way most likely waits for its host: making a context now would only let the answer wait.
    if (this.#calls.size > 0) this.#later ??= setTimeout(() => this.#refill(), REFILL_MS);
    else this.#refill();
  }

  /** Makes one more context in advance, unless there are enough. */
  #refill(): void {
    if (this.#later !== null) clearTimeout(this.#later);
    this.#later = null;
    if (this.#isGone || this.#isRetired || this.#entries.current !== null || this.#entries.length > 0) return;
    const file = this.#wanted;
    if (this.#ready.filter((prepared) => prepared.file === file).length >= READY_EACH) return;
    this.#entries.enter(null, async () => {
      this.#ready.push(await this.#prepare(file));
      if (this.#ready.length > READY_ALL) this.#release(this.#ready.shift());
    });
  }

  /**
   * Makes a context. No code of an author runs here, so it is made in this thread: every way to another thread and back takes a tenth
   * of a millisecond of CPU and more.
   */
  async #prepare(file: string): Promise<Prepared> {
    const graph = await compileGraph(this.#isolate, this.#files, file, this.#code);
    this.#take ??= this.#isolate.compileScriptSync(TAKE_SCRIPT, { filename: BOOT_NAME });
    const context = this.#isolate.createContextSync();
    const owner: Prepared['owner'] = { call: null };
    const post = new ivm.Callback((...texts: unknown[]) => owner.call?.posted(texts[0], texts[1], texts[2], texts[3]), {
      ignored: true,
    });
    const make: Reference = this.#take.runSync(context, { reference: true });
    const receive: Prepared['receive'] = make.applySync(undefined, [post, new ivm.Callback(address)], {
      result: { reference: true },
    });
    make.release();
    const root = linkGraph(context, this.#files, graph, file);
    await this.#count();
    return { file, context, graph, root, receive, owner, isReleased: false };
  }

  async #count(): Promise<void> {
    this.#made += 1;
    const isFull =
      this.#made % LOOK_EVERY === 0 &&
      (await this.#isolate
        .getHeapStatistics()
        .then((heap) => heap.used_heap_size + heap.externally_allocated_size > FULL * heap.heap_size_limit));
    if (this.#made >= MAX_CONTEXTS || isFull) setImmediate(() => this.retire());
  }

  #release(prepared: Prepared | undefined): void {
    if (prepared === undefined || prepared.isReleased) return;
    prepared.owner.call = null;
    prepared.isReleased = true;
    if (this.#isolate.isDisposed) return;
    prepared.receive.release();
    for (const module of prepared.graph.values()) module.release();
    prepared.context.release();
  }
}
