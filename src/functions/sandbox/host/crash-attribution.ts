/**
 * Finds the call that crashed the runner or forced the server to end it. The runner may have been unable to report, so this is
 * the most likely one. Pure.
 */
import type { LiveCall } from './live-call.ts';

/** How long an ended call is still blamed for the memory that it held, in milliseconds. */
const OFFENCE_MS = 2_000;

/** Messages for a call that crashed the runner or forced the server to end it. */
export const CRASH_ERRORS = {
  time: {
    code: 'function-timeout',
    message: 'The function took too long and could not be interrupted',
    reason: 'The function could not be interrupted',
  },
  memory: {
    code: 'function-out-of-memory',
    message: 'The function used too much memory',
    reason: 'The function used too much memory',
  },
  end: {
    code: 'function-failed',
    message: 'The function ended the process that ran it',
    reason: 'The function ended the process that ran it',
  },
} as const;

/** The state of the calls in a runner. */
export interface CrashEvidence {
  readonly calls: ReadonlyMap<string, LiveCall>;
  /** Capabilities of the calls whose code has been running for a while, the longest first, as last reported by the runner. */
  readonly busy: readonly string[];
  /** The last call that was ended because of its memory, and when: its memory may not be free yet. */
  readonly offender: { readonly live: LiveCall; readonly at: number } | null;
  /** When the runner last held no more memory than allowed for itself and its calls. */
  readonly withinLimitAt: number;
}

/**
 * @param why `memory`: the runner holds too much. `end`: it has exited by itself
 * @returns null when no call was running
 */
export function findCrashingCall(
  { calls, busy, offender, withinLimitAt }: CrashEvidence,
  why: 'memory' | 'end',
): LiveCall | null {
  // Memory allocated after the end of the blamed call is not its own.
  const isCleared = offender === null || (why === 'memory' && withinLimitAt > offender.at);
  if (!isCleared && performance.now() - offender.at < OFFENCE_MS) return offender.live;
  const reported = busy.map((capability) => calls.get(capability)).find((live) => live !== undefined);
  if (reported !== undefined) return reported;
  const left = [...calls.values()].filter((live) => !live.isOver);
  const active = left.filter((live) => !live.isWaiting).sort((a, b) => a.activeAt - b.activeAt);
  // Allocating much memory takes a while. Code that ends the runner before it can report it has hardly started.
  return (why === 'memory' ? active[0] : active.at(-1)) ?? left[0] ?? null;
}
