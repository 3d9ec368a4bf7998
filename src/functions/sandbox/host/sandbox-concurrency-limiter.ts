/**
 * Limits concurrent calls and host operations, fair between plugins. Write hooks have their own limiter: the outer call waits for
 * them while holding its slot, so a shared limit could deadlock.
 */
import { FairSemaphore } from '../../../lib/concurrency/fair-semaphore.ts';
import { Semaphore } from '../../../lib/concurrency/semaphore.ts';
import { MillraceError } from '../../../lib/errors.ts';
import type { BundleError, CallOutcome, SandboxCall } from '../sandbox.ts';
import type { HostResponse } from './live-call.ts';

/** Concurrent calls of one limiter, and those of one plugin. */
const CALLS = 64;
const CALLS_EACH = 32;
/** Concurrent host operations of one limiter, and those of one plugin. */
const OPERATIONS = 64;
const OPERATIONS_EACH = 32;
/** Queued calls of one plugin. */
const MAX_WAITING = 2_000;
const CHECKS = 2;
const MAX_WAITING_CHECKS = 100;

class Lane {
  readonly calls = new FairSemaphore(CALLS, CALLS_EACH);
  readonly operations = new FairSemaphore(OPERATIONS, OPERATIONS_EACH);
  readonly held = new Map<string, number>();
}

export class SandboxLimiter {
  readonly #before = new Lane();
  readonly #others = new Lane();
  readonly #checks = new Semaphore(CHECKS, MAX_WAITING_CHECKS);

  /**
   * Runs a call when a slot is free.
   * @throws MillraceError `overloaded` when too many calls of its plugin are queued, or it waited for its whole wall-time limit
   */
  async run(call: SandboxCall, task: () => Promise<CallOutcome>): Promise<CallOutcome> {
    const lane = this.#laneOf(call);
    const plugin = pluginOf(call);
    const held = lane.held.get(plugin) ?? 0;
    if (held >= MAX_WAITING) throw tooMany();
    lane.held.set(plugin, held + 1);
    const since = performance.now();
    try {
      return await lane.calls.run(plugin, () => {
        if (performance.now() - since > call.limits.wallMs) throw tooMany();
        return task();
      });
    } finally {
      const left = (lane.held.get(plugin) ?? 1) - 1;
      if (left > 0) lane.held.set(plugin, left);
      else lane.held.delete(plugin);
    }
  }

  operation(call: SandboxCall, task: () => Promise<HostResponse>): Promise<HostResponse> {
    return this.#laneOf(call).operations.run(pluginOf(call), task);
  }

  check<T extends readonly BundleError[] | null>(task: () => Promise<T>): Promise<T> {
    return this.#checks.run(task);
  }

  #laneOf(call: SandboxCall): Lane {
    return call.kind === 'beforeWrite' ? this.#before : this.#others;
  }
}

/** `plugin` of `plugin/name`. */
function pluginOf(call: SandboxCall): string {
  return call.facts.run.function.split('/')[0] ?? '';
}

function tooMany(): MillraceError {
  const headers = { 'retry-after': '1' };
  return new MillraceError('overloaded', 'Too many calls of the plugin are waiting', { headers });
}
