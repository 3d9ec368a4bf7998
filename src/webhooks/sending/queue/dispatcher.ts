/** Sends leased deliveries, and decides what follows: for the delivery, its endpoint, and the next one in the queue. */
import { setTimeout as pause } from 'node:timers/promises';
import type { LogCallback } from '../../../events/log/log-callback.ts';
import { retry } from '../../../lib/concurrency/retry.ts';
import { GONE_STATUS } from '../attempt-outcome.ts';
import type { Delivery, SenderEvents } from '../sender.ts';
import { DeliveryLeaser } from './delivery-leaser.ts';
import { toDelivery } from './delivery-row.ts';
import { documentsWithOrderedDeliveries, releaseNextDeliveries } from './ordering.ts';
import type { EndpointState, LeasedDelivery, QueueContext } from './queue-types.ts';
import { type DeliveryResult, ResultRecorder } from './result-recorder.ts';
import type { Transport } from './transport.ts';

/** An endpoint is disabled when nothing succeeded for this time after the first failure, in milliseconds. */
const FAILING_MS = 120 * 3_600_000;
/** Maximum results that wait to be recorded. */
const MAX_UNRECORDED = 1_000;
/** Time for active requests when the program ends, in milliseconds. */
const STOP_MS = 5_000;
/** How long reporting is retried while the database is unavailable, in milliseconds. */
const REPORT = { limitMs: 30_000, delayMs: 100, maxDelayMs: 2_000, retryable: () => true } as const;

export interface DeliveryDispatcherDeps extends QueueContext {
  readonly transport: Transport;
  readonly events: SenderEvents;
  readonly onLog: LogCallback;
}

export class DeliveryDispatcher {
  readonly leaser: DeliveryLeaser;
  readonly #deps: DeliveryDispatcherDeps;
  readonly #finishing: ResultRecorder;
  readonly #reports = new Set<Promise<void>>();
  /** Runs at the next rate slot of an endpoint with a rate. */
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(deps: DeliveryDispatcherDeps) {
    this.#deps = deps;
    this.leaser = new DeliveryLeaser({ ...deps, send: () => this.send() });
    this.#finishing = new ResultRecorder({ ...deps, recorded: (results, lost) => this.#recorded(results, lost) });
  }

  /** Whether more deliveries may be leased. */
  get ended(): boolean {
    return this.#ended;
  }

  async stop(): Promise<void> {
    const { slots } = this.#deps;
    this.#ended = true;
    clearTimeout(this.#timer);
    await this.leaser.stop();
    await this.#giveBack(slots.withdraw(() => true));
    const end = performance.now() + STOP_MS;
    while (slots.underWay > 0 && performance.now() < end) await pause(10);
    await this.#finishing.stop();
    await Promise.all(this.#reports);
  }

  /** Sends queued deliveries while slots are free. */
  send(): void {
    const { slots } = this.#deps;
    clearTimeout(this.#timer);
    if (this.#ended) return;
    // One time for all of this: the loop and the timer would both miss a rate slot that starts in between.
    const now = performance.now();
    while (this.#finishing.count < MAX_UNRECORDED) {
      const one = slots.next(now);
      if (one === undefined) break;
      void this.#send(one);
    }
    this.leaser.refill();
    const next = slots.nextTime();
    if (next !== null && next > now) this.#timer = setTimeout(() => this.send(), next - now);
  }

  async #send(one: LeasedDelivery): Promise<void> {
    const { endpoints, slots, clock, transport } = this.#deps;
    const state = endpoints.get(one.endpoint);
    const { trigger, _id: id } = one.row;
    if (state === undefined || !state.target.enabled) {
      slots.end(one, null);
      return;
    }
    const isLate = ({ sendBefore }: LeasedDelivery) => performance.now() > sendBefore;
    if (isLate(one)) {
      slots.end(one, null);
      await this.#giveBack([one, ...slots.withdraw(isLate)]);
      return;
    }
    // The breaker has opened since the lease.
    if (state.breaker.open !== null && !one.probe && trigger !== 'test') {
      slots.end(one, null);
      await this.#giveBack([one]);
      return;
    }
    const {
      succeeded,
      countsForBreaker: judged,
      outcome,
      holdMs,
      ...kept
    } = await transport.send(one, state.target, clock.now());
    slots.end(one, succeeded);
    const now = clock.now();
    const due = outcome.state === 'pending' ? new Date(now + outcome.pauseMs) : null;
    const at = kept.attempts.at(-1)?.at ?? new Date(now);
    const breaker = judged && succeeded !== null ? judge(state, one, succeeded, now) : null;
    this.#finishing.add({ one, finished: { ...kept, id, take: one.take, at, due, state: outcome.state }, breaker });
    if (holdMs !== undefined) state.heldUntil = now + holdMs;
    if (holdMs !== undefined || (breaker !== null && breaker !== 'closed')) {
      await this.#giveBack(slots.withdraw(({ endpoint }) => endpoint === one.endpoint));
    }
    this.send();
  }

  /** Releases leased deliveries that were not sent, so that they are due at once. */
  async #giveBack(all: readonly LeasedDelivery[]): Promise<void> {
    const { store, clock, limits, onLog } = this.#deps;
    const due = new Date(clock.now());
    try {
      await store.releaseLease(all.map(({ row, take }) => ({ id: row._id, take, due, held: false })));
    } catch (error) {
      onLog('warn', 'Leases of deliveries could not be released', { error: String(error) });
      this.leaser.dueAt(due.getTime() + limits.leaseMs);
    }
    for (const { endpoint } of all) this.leaser.due(endpoint);
  }

  #recorded(results: readonly DeliveryResult[], lost: number): void {
    // Other processes hold them now, or their leases have ended.
    if (lost > 0) this.leaser.wake();
    for (const { finished } of results) if (finished.due !== null) this.leaser.dueAt(finished.due.getTime());
    const steps = [() => this.#release(results), () => this.#reportDead(results), () => this.#disable(results)];
    for (const step of steps) {
      const report = retry(step, REPORT).catch((error: unknown) => {
        this.#deps.onLog('error', 'Results of deliveries could not be stored', { error: String(error) });
      });
      this.#reports.add(report);
      void report.finally(() => this.#reports.delete(report));
    }
    this.send();
  }

  async #release(results: readonly DeliveryResult[]): Promise<void> {
    const ended = results.filter(({ one, finished }) => finished.due === null && one.row.ordered === true);
    const released = await releaseNextDeliveries(
      documentsWithOrderedDeliveries(ended.map(({ one }) => one.row)),
      this.#deps,
    );
    for (const endpoint of released) this.leaser.due(endpoint);
  }

  async #reportDead(results: readonly DeliveryResult[]): Promise<void> {
    const failed = results.filter(({ finished }) => finished.state === 'failed');
    if (failed.length > 0) await this.#deps.events.onFailed(failed.map(endedDelivery));
  }

  async #disable(results: readonly DeliveryResult[]): Promise<void> {
    const { endpoints, health, clock, events } = this.#deps;
    const gone = new Set<string>();
    const failing = new Set<string>();
    for (const { one, finished } of results) {
      const state = endpoints.get(one.endpoint);
      if (state === undefined || one.row.trigger === 'test') continue;
      for (const { at, error, status } of finished.attempts) {
        state.failingSince = error === null ? null : (state.failingSince ?? at.getTime());
        if (status === GONE_STATUS) gone.add(one.endpoint);
        else if (state.failingSince !== null && at.getTime() - state.failingSince >= FAILING_MS)
          failing.add(one.endpoint);
      }
    }
    for (const endpoint of gone) await events.onDisable(endpoint, 'gone');
    for (const row of failing.size === 0 ? [] : await health.of([...failing])) {
      // An attempt of another process may have succeeded.
      const since = row.failingSince?.getTime() ?? Number.POSITIVE_INFINITY;
      if (clock.now() - since >= FAILING_MS) await events.onDisable(row._id, 'failing');
    }
  }
}

/** Counts an attempt for the breaker. @returns its state if it has changed */
function judge(
  { breaker }: EndpointState,
  { probe }: LeasedDelivery,
  succeeded: boolean,
  now: number,
): DeliveryResult['breaker'] {
  const before = breaker.open;
  if (probe) breaker.recordProbe(succeeded, now);
  else breaker.count(succeeded, now);
  return breaker.open === before ? null : (breaker.open ?? 'closed');
}

function endedDelivery({ one, finished: { attempts, at, state } }: DeliveryResult): Delivery {
  const { row } = one;
  return toDelivery({ ...row, state, count: row.count + attempts.length, finishedAt: at, attempts });
}
