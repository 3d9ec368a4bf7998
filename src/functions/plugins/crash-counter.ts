/** Counts how often calls of a function crashed the sandbox process, in this process. */
import type { SandboxCall } from '../sandbox/sandbox.ts';
import type { ActivePlugins } from './plugin.ts';

const MOST = 3;
const WITHIN_MS = 10 * 60_000;

export interface CrashCounterDeps {
  readonly active: Pick<ActivePlugins, 'find'>;
  /** @param id `plugin/name` */
  readonly quarantine: (id: string, reason: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export class CrashCounter {
  readonly #deps: CrashCounterDeps;
  readonly #times = new Map<string, readonly number[]>();

  constructor(deps: CrashCounterDeps) {
    this.#deps = deps;
  }

  /** Counts a call. A call of an unsaved version does not count against the active function of that name. */
  add(call: Pick<SandboxCall, 'bundle' | 'facts'>, reason: string): void {
    const { active, quarantine, onError, now = Date.now } = this.#deps;
    const id = call.facts.run.function;
    const fn = active.find(id);
    if (fn === undefined || fn.plugin.bundle.id !== call.bundle.id) return;
    const at = now();
    const times = [...(this.#times.get(id) ?? []), at].filter((time) => time > at - WITHIN_MS);
    if (times.length < MOST) {
      this.#times.set(id, times);
      return;
    }
    this.#times.delete(id);
    quarantine(id, reason).catch(onError);
  }
}
