/**
 * Counts how often calls of a function made it necessary to end the process that runs the code, in this process. Not here: what
 * happens to a function with too many (plugins.ts).
 */
import type { SandboxCall } from '../sandbox/sandbox.ts';
import type { ActivePlugins } from './plugin.ts';

const MOST = 3;
const WITHIN_MS = 10 * 60_000;

export interface StrikesParts {
  readonly active: Pick<ActivePlugins, 'find'>;
  /** @param id `plugin/name` */
  readonly quarantine: (id: string, reason: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export class Strikes {
  readonly #parts: StrikesParts;
  readonly #times = new Map<string, readonly number[]>();

  constructor(parts: StrikesParts) {
    this.#parts = parts;
  }

  /** Counts a call. One of a draft, which is not what is in force, does not count against the function of that name. */
  add(call: Pick<SandboxCall, 'bundle' | 'facts'>, reason: string): void {
    const { active, quarantine, onError, now = Date.now } = this.#parts;
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
