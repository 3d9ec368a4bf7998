/**
 * Whose code made it necessary to end the runner, or ended it. The runner may not have been able to tell, so this is what most likely
 * happened. Pure. Not here: what follows from it.
 */
import type { LiveCall } from './live-call.ts';

/** Milliseconds for which a call is blamed for what it held when it was ended. */
const OFFENCE_MS = 2_000;

/** What is said of a call that made it necessary to end the runner, or ended it. */
export const STRIKES = {
  time: {
    code: 'function-timeout',
    message: 'The function took too long and could not be interrupted',
    reason: 'It could not be interrupted',
  },
  memory: {
    code: 'function-out-of-memory',
    message: 'The function used too much memory',
    reason: 'It used too much memory',
  },
  end: {
    code: 'function-failed',
    message: 'The function ended the program that ran it',
    reason: 'It ended the program that ran it',
  },
} as const;

/** What is known of the calls in a runner. */
export interface Evidence {
  readonly calls: ReadonlyMap<string, LiveCall>;
  /** Capabilities of the calls whose code has been running for a while, the longest first, as the runner told last. */
  readonly busy: readonly string[];
  /** The call that was ended last because it used too much, and when: what it held may still be held. */
  readonly offender: { readonly live: LiveCall; readonly at: number } | null;
  /** When the runner was last seen to hold no more than it and its calls may. */
  readonly withinAt: number;
}

/**
 * @param why `memory`: the runner holds too much. `end`: it has ended by itself
 * @returns null when nothing was under way
 */
export function blamed({ calls, busy, offender, withinAt }: Evidence, why: 'memory' | 'end'): LiveCall | null {
  // Memory that came after the offender's end is not the offender's.
  const isCleared = offender === null || (why === 'memory' && withinAt > offender.at);
  if (!isCleared && performance.now() - offender.at < OFFENCE_MS) return offender.live;
  const told = busy.map((capability) => calls.get(capability)).find((live) => live !== undefined);
  if (told !== undefined) return told;
  const left = [...calls.values()].filter((live) => !live.isOver);
  const active = left.filter((live) => !live.isWaiting).sort((a, b) => a.activeAt - b.activeAt);
  // To hold much takes a while. Code that ends the runner before it can tell of it has hardly begun.
  return (why === 'memory' ? active[0] : active.at(-1)) ?? left[0] ?? null;
}
