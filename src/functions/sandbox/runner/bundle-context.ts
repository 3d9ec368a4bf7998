/**
 * A V8 context of one file of a bundle, in which author code runs for one call at a time. What the code sends is dropped unless it
 * belongs to the current call.
 */
import { randomBytes } from 'node:crypto';
import ivm, { type Context, type Module, type Reference } from 'isolated-vm';
import {
  type BundleFiles,
  type CompiledCode,
  compileModuleGraph,
  linkModuleGraph,
  type ModuleGraph,
} from './modules.ts';
import type { RunnerCall } from './runner-call.ts';
import { parseUrlParts } from './url.ts';

/** Calls of a context before it is replaced. */
const MAX_CALLS = 10_000;
/** Milliseconds before it is replaced. */
const MAX_AGE_MS = 600_000;

export interface BundleContextDeps {
  readonly isolate: ivm.Isolate;
  readonly files: BundleFiles;
  readonly code: CompiledCode;
  /** Removes the program around an author's code from a new context, and returns it. */
  readonly extractProgram: ivm.Script;
}

/** The current call of a context, and its number. Shared with the function that receives what the code sends. */
interface Owner {
  call: RunnerCall | null;
  number: number;
}

interface ContextParts {
  readonly file: string;
  readonly isolate: ivm.Isolate;
  readonly context: Context;
  readonly graph: ModuleGraph;
  readonly root: Module;
  readonly enter: Reference;
  readonly owner: Owner;
}

/**
 * Creates a context. No author code runs here, so it is created in this thread: each round trip to another thread costs at
 * least a tenth of a millisecond of CPU.
 * @throws what the compilation of a file of the author threw
 */
export async function createBundleContext(
  { isolate, files, code, extractProgram }: BundleContextDeps,
  file: string,
): Promise<BundleContext> {
  const graph = await compileModuleGraph(isolate, files, file, code);
  const context = isolate.createContextSync();
  const owner: Owner = { call: null, number: 0 };
  const post = new ivm.Callback(
    (...sent: unknown[]) => {
      // Messages are delivered after the code has sent them: meanwhile another call may own the context.
      if (sent[1] === owner.number) owner.call?.receive(sent[0], sent[2], sent[3], sent[4]);
    },
    { ignored: true },
  );
  const make: Reference = extractProgram.runSync(context, { reference: true });
  const given = [post, new ivm.Callback(parseUrlParts), randomBytes(32).toString('base64')];
  const enter: Reference = make.applySync(undefined, given, { result: { reference: true } });
  make.release();
  const root = linkModuleGraph(context, files, graph, file);
  return new BundleContext({ file, isolate, context, graph, root, enter, owner });
}

export class BundleContext {
  readonly file: string;
  readonly #parts: ContextParts;
  readonly #createdAt = performance.now();
  /** Time of the end of its last call, by `performance.now()`. */
  usedAt = this.#createdAt;
  /** Its state is unclear, so no further call may run in it. */
  isUnclear = false;
  /** Whether the top level of the author's files has run without an error. */
  isEvaluated = false;
  #isReleased = false;

  constructor(parts: ContextParts) {
    this.file = parts.file;
    this.#parts = parts;
  }

  get mayServe(): boolean {
    const isOld = performance.now() - this.#createdAt > MAX_AGE_MS;
    return !this.isUnclear && !isOld && this.#parts.owner.number < MAX_CALLS;
  }

  /**
   * Runs the code for a call, until it waits for something.
   * @throws what the code threw at its top level, or rejected without a handler
   */
  async begin(call: RunnerCall): Promise<void> {
    const { owner, root, enter } = this.#parts;
    owner.call = call;
    owner.number += 1;
    const start = ['start', owner.number, call.job(), call.input];
    if (this.isEvaluated) {
      await enter.apply(undefined, start);
      return;
    }
    await root.evaluate();
    this.isEvaluated = true;
    await enter.apply(undefined, [...start, root.namespace.derefInto({ release: true })]);
  }

  /** @throws what the code rejected without a handler */
  respond(number: number, ok: boolean, text: string): Promise<unknown> {
    return this.#parts.enter.apply(undefined, ['host-result', this.#parts.owner.number, number, ok, text]);
  }

  /** @throws what the code rejected without a handler */
  wake(): Promise<unknown> {
    return this.#parts.enter.apply(undefined, ['woken', this.#parts.owner.number]);
  }

  /** The call has ended, and none of its code runs. */
  end(): void {
    this.#parts.owner.call = null;
    this.usedAt = performance.now();
  }

  release(): void {
    const { isolate, context, graph, enter, owner } = this.#parts;
    owner.call = null;
    if (this.#isReleased) return;
    this.#isReleased = true;
    if (isolate.isDisposed) return;
    enter.release();
    for (const module of graph.values()) module.release();
    context.release();
  }
}
