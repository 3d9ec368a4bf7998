/**
 * One isolate with the code of one bundle. Every call gets its own context, created in advance and never reused; after a number
 * of them a new isolate replaces this one.
 */
import { setFlagsFromString } from 'node:v8';
import ivm, { type Context, type Dereference, type Module, type Reference } from 'isolated-vm';
import { BOOT_SCRIPT, BOOT_SCRIPT_NAME, EXTRACT_PROGRAM_SCRIPT } from '../isolate/boot-script.ts';
import { IsolateMutex } from './isolate-mutex.ts';
import {
  type BundleFiles,
  type CompiledCode,
  compileModuleGraph,
  linkModuleGraph,
  type ModuleGraph,
} from './modules.ts';
import type { RunnerCall } from './runner-call.ts';
import { parseUrlParts } from './url.ts';

/** Contexts per isolate before it is replaced: about 200 kB of each remain allocated until then. */
const MAX_CONTEXTS = 100;
/** Share of the heap in use above which the isolate is replaced. */
const FULL = 0.6;
/** Contexts between two heap checks. */
const LOOK_EVERY = 20;
/** Prepared contexts for each called file, and in total. */
const READY_EACH = 2;
const READY_ALL = 6;
/** Milliseconds after which contexts are created in advance although calls are running. */
const REFILL_MS = 10;
/** Megabytes for the contexts of concurrent calls, in addition to the limit of one call. */
const CONTEXTS_MB = 48;

/**
 * Megabytes that an isolate fills before V8 first marks its whole heap: more than all its contexts take, so that they are freed
 * with the isolate instead. By default V8 starts at a few megabytes, and repeats it every few dozen contexts: half of the cost of
 * a call.
 */
const FIRST_COLLECTION_MB = 32;

/** A context with the bootstrap program, from which all contexts are created. */
let snapshot: ivm.ExternalCopy<ArrayBuffer> | null = null;

/** The parameters of an isolate. */
type Given = string | number | boolean | Dereference<unknown>;

/** A context in which no author code has run yet. */
interface Prepared {
  readonly file: string;
  readonly context: Context;
  readonly graph: ModuleGraph;
  readonly root: Module;
  readonly receive: Reference;
  /** The call that owns the context; it receives posted messages. */
  readonly owner: { call: RunnerCall | null };
  isReleased: boolean;
}

export class BundleIsolate {
  readonly #isolate: ivm.Isolate;
  readonly #files: BundleFiles;
  readonly #code: CompiledCode = new Map();
  readonly #entries: IsolateMutex;
  readonly #ready: Prepared[] = [];
  readonly #calls = new Set<RunnerCall>();
  readonly #onGone: () => void;
  /** Time of the last call, by `performance.now()`. */
  usedAt = performance.now();
  #take: ivm.Script | null = null;
  #created = 0;
  #lastCpu = 0n;
  #requested: string;
  #later: NodeJS.Timeout | null = null;
  #isRetired = false;
  #isGone = false;
  /** Ends the guilty call. */
  #verdict: (() => void) | null = null;

  /**
   * @param heapMb megabytes of heap that a call may use
   * @param onGone it accepts no more calls: create another one
   */
  constructor(files: BundleFiles, file: string, heapMb: number, onGone: () => void, onCatastrophe: () => void) {
    this.#files = files;
    this.#requested = file;
    this.#onGone = onGone;
    if (snapshot === null) setFlagsFromString(`--initial-old-space-size=${FIRST_COLLECTION_MB}`);
    snapshot ??= ivm.Isolate.createSnapshot([{ code: BOOT_SCRIPT, filename: BOOT_SCRIPT_NAME }]);
    const memoryLimit = heapMb + CONTEXTS_MB;
    this.#isolate = new ivm.Isolate({ memoryLimit, snapshot, onCatastrophicError: onCatastrophe });
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
    const at = this.#ready.findIndex((prepared) => prepared.file === file);
    const prepared = at === -1 ? undefined : this.#ready.splice(at, 1)[0];
    if (prepared !== undefined) {
      this.#begin(call, prepared);
      return;
    }
    let created: Prepared | null = null;
    this.#entries
      .enter(null, async () => {
        created = await this.#prepare(file);
      })
      .then((error) => {
        if (this.#isGone) return;
        if (this.#isolate.isDisposed)
          this.#die(call, 'function-out-of-memory', 'The function does not fit into its memory');
        else if (created === null) call.failWith(error, false);
        else this.#begin(call, created);
      });
  }

  #begin(call: RunnerCall, prepared: Prepared): void {
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
    call.attach({
      response: (number, ok, text) => enter(() => receive('host-result', number, ok, text)),
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
          // Unhandled rejections arrive here too. They do not matter: the end of the function is posted.
          if (this.#isolate.isDisposed) throw error;
        },
      );
    }, true);
  }

  #entered(call: RunnerCall, error: unknown, atStart: boolean): void {
    if (this.#isGone) {
      this.#verdict?.();
      return;
    }
    if (this.#isolate.isDisposed) {
      this.#die(call, 'function-out-of-memory', call.overMemory);
    } else if (atStart && error !== undefined) call.failWith(error, true);
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
    this.#ready.length = 0;
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

  #idle(): void {
    if (this.#isGone || this.#entries.current !== null || this.#entries.length > 0) return;
    if (this.#isRetired) {
      if (this.#calls.size > 0) return;
      this.#isGone = true;
      this.#ready.length = 0;
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
    if (this.#ready.filter((prepared) => prepared.file === file).length >= READY_EACH) return;
    this.#entries.enter(null, async () => {
      this.#ready.push(await this.#prepare(file));
      if (this.#ready.length > READY_ALL) this.#release(this.#ready.shift());
    });
  }

  /**
   * Creates a context. No author code runs here, so it is created in this thread: each round trip to another thread costs at
   * least a tenth of a millisecond of CPU.
   */
  async #prepare(file: string): Promise<Prepared> {
    const graph = await compileModuleGraph(this.#isolate, this.#files, file, this.#code);
    this.#take ??= this.#isolate.compileScriptSync(EXTRACT_PROGRAM_SCRIPT, { filename: BOOT_SCRIPT_NAME });
    const context = this.#isolate.createContextSync();
    const owner: Prepared['owner'] = { call: null };
    const receive = (...texts: unknown[]) => owner.call?.receive(texts[0], texts[1], texts[2], texts[3]);
    const post = new ivm.Callback(receive, { ignored: true });
    const make: Reference = this.#take.runSync(context, { reference: true });
    const args = [post, new ivm.Callback(parseUrlParts)];
    const entry: Prepared['receive'] = make.applySync(undefined, args, { result: { reference: true } });
    make.release();
    const root = linkModuleGraph(context, this.#files, graph, file);
    await this.#count();
    return { file, context, graph, root, receive: entry, owner, isReleased: false };
  }

  async #count(): Promise<void> {
    this.#created += 1;
    const isFull =
      this.#created % LOOK_EVERY === 0 &&
      (await this.#isolate
        .getHeapStatistics()
        .then((heap) => heap.used_heap_size + heap.externally_allocated_size > FULL * heap.heap_size_limit));
    if (this.#created >= MAX_CONTEXTS || isFull) setImmediate(() => this.retire());
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
