/**
 * The contexts of one isolate that serve no call now: used ones that serve further calls or, where each call has its own, ones
 * created in advance.
 */
import type ivm from 'isolated-vm';
import { BOOT_SCRIPT_NAME, EXTRACT_PROGRAM_SCRIPT } from '../isolate/boot-script.ts';
import { type BundleContext, createBundleContext } from './bundle-context.ts';
import type { BundleFiles, CompiledCode } from './modules.ts';

/** Contexts created in advance for each called file, and in total. */
const PREPARED_EACH = 2;
const PREPARED_ALL = 6;
/** Used contexts that wait for a call. */
const MAX_IDLE = 32;
/** Milliseconds after which an idle context is released: it was needed for more calls at a time than there are now. */
const UNUSED_MS = 60_000;

export class ContextPool {
  readonly #isolate: ivm.Isolate;
  readonly #files: BundleFiles;
  readonly #isReused: boolean;
  readonly #code: CompiledCode = new Map();
  /** The last used one last. */
  #idle: BundleContext[] = [];
  #extractProgram: ivm.Script | null = null;
  /** Contexts created so far. */
  created = 0;

  /** @param isReused whether a context serves further calls */
  constructor(isolate: ivm.Isolate, files: BundleFiles, isReused: boolean) {
    this.#isolate = isolate;
    this.#files = files;
    this.#isReused = isReused;
  }

  /** A context for a call of a file, the last used one; null if there is none. */
  take(file: string): BundleContext | null {
    for (let at = this.#idle.length - 1; at >= 0; at -= 1) {
      if (this.#idle[at]?.file !== file) continue;
      const [context] = this.#idle.splice(at, 1);
      if (context?.mayServe) return context;
      context?.release();
    }
    return null;
  }

  create(file: string): Promise<BundleContext> {
    this.created += 1;
    const [isolate, files, code] = [this.#isolate, this.#files, this.#code];
    this.#extractProgram ??= isolate.compileScriptSync(EXTRACT_PROGRAM_SCRIPT, { filename: BOOT_SCRIPT_NAME });
    return createBundleContext({ isolate, files, code, extractProgram: this.#extractProgram }, file);
  }

  /** A call has ended, and none of its code runs. */
  giveBack(context: BundleContext): void {
    context.end();
    if (this.#isReused && context.mayServe) this.#keep(context, MAX_IDLE);
    else context.release();
  }

  /** Whether a context of a file should be created in advance. */
  isShortOf(file: string): boolean {
    return !this.#isReused && this.#idle.filter((context) => context.file === file).length < PREPARED_EACH;
  }

  async createInAdvance(file: string): Promise<void> {
    this.#keep(await this.create(file), PREPARED_ALL);
  }

  /** Releases contexts that were not used for a while. */
  releaseUnused(): void {
    const since = performance.now() - UNUSED_MS;
    for (const context of this.#idle) if (context.usedAt < since) context.release();
    this.#idle = this.#idle.filter((context) => context.usedAt >= since);
  }

  clear(): void {
    this.#idle = [];
  }

  #keep(context: BundleContext, most: number): void {
    this.#idle.push(context);
    if (this.#idle.length > most) this.#idle.shift()?.release();
  }
}
