/** Attempts leased deliveries, and decides what follows: for the delivery, its endpoint, and the next one in the queue. */
import type { WriteServerLog } from '../../../events/log/server-log-forwarder.ts';
import { retry } from '../../../lib/concurrency/retry.ts';
import { GONE_STATUS } from '../attempt-outcome.ts';
import type { Delivery, SenderEvents } from '../sender.ts';
import { toDelivery } from './delivery-row.ts';
import { distinctDeliveryDocuments, releaseNextDeliveries } from './ordering.ts';
import type { EndpointState, LeasedDelivery, QueueContext } from './queue-types.ts';
import { type DeliveryResult, ResultRecorder } from './result-recorder.ts';
import type { Transport } from './transport.ts';

/** An endpoint is disabled when nothing succeeded for this time after the first failure, in milliseconds. */
const FAILING_MS = 120 * 3_600_000;
/** Maximum results that wait to be recorded. */
const MAX_UNRECORDED = 1_000;
/** How long reporting is retried while the database is unavailable, in milliseconds. */
const REPORT = { limitMs: 30_000, delayMs: 100, maxDelayMs: 2_000, retryable: () => true } as const;

export interface DeliveryAttemptsDeps extends QueueContext {
  readonly transport: Transport;
  readonly events: SenderEvents;
  readonly onLog: WriteServerLog;
}

export class DeliveryAttemptRunner {
  readonly #deps: DeliveryAttemptsDeps;
  readonly #results: ResultRecorder;
  readonly #reports = new Set<Promise<void>>();

  constructor(deps: DeliveryAttemptsDeps) {
    this.#deps = deps;
    this.#results = new ResultRecorder({ ...deps, recorded: (results, lost) => this.#recorded(results, lost) });
  }

  /** Whether so many results wait to be recorded that no attempt may start. */
  get isFull(): boolean {
    return this.#results.count >= MAX_UNRECORDED;
  }

  /** Records the results of ended attempts. */
  async stop(): Promise<void> {
    await this.#results.stop();
    await Promise.all(this.#reports);
  }

  /** Makes one attempt. Its result is recorded later, together with others. */
  async attempt(one: LeasedDelivery): Promise<void> {
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
      await this.release([one, ...slots.withdraw(isLate)]);
      return;
    }
    // The breaker has opened since the lease.
    if (state.breaker.open !== null && !one.probe && trigger !== 'test') {
      slots.end(one, null);
      await this.release([one]);
      return;
    }
    const { succeeded, countsForBreaker, outcome, holdMs, ...kept } = await transport.send(
      one,
      state.target,
      clock.now(),
    );
    slots.end(one, succeeded);
    const now = clock.now();
    const dueAt = outcome.state === 'pending' ? new Date(now + outcome.pauseMs) : null;
    const at = kept.attempts.at(-1)?.at ?? new Date(now);
    const breaker = countsForBreaker && succeeded !== null ? judge(state, one, succeeded, now) : null;
    this.#results.add({ one, finished: { ...kept, id, token: one.token, at, dueAt, state: outcome.state }, breaker });
    if (holdMs !== undefined) state.heldUntil = now + holdMs;
    if (holdMs !== undefined || (breaker !== null && breaker !== 'closed')) {
      await this.release(slots.withdraw(({ endpoint }) => endpoint === one.endpoint));
    }
  }

  /** Releases leased deliveries that were not sent, so that they are due at once. */
  async release(all: readonly LeasedDelivery[]): Promise<void> {
    const { store, clock, limits, worker, onLog } = this.#deps;
    const dueAt = new Date(clock.now());
    try {
      await store.releaseLease(all.map(({ row, token }) => ({ id: row._id, token, dueAt, held: false })));
    } catch (error) {
      onLog('warn', 'Leases of deliveries could not be released', { error: String(error) });
      worker.wakeAt(dueAt.getTime() + limits.leaseMs);
    }
    for (const { endpoint } of all) worker.wakeGroup(endpoint);
  }

  #recorded(results: readonly DeliveryResult[], lost: number): void {
    const { worker } = this.#deps;
    // Other processes hold them now, or their leases have ended.
    if (lost > 0) worker.wake();
    for (const { finished } of results) if (finished.dueAt !== null) worker.wakeAt(finished.dueAt.getTime());
    const steps = [() => this.#releaseNext(results), () => this.#reportDead(results), () => this.#disable(results)];
    for (const step of steps) {
      const report = retry(step, REPORT).catch((error: unknown) => {
        this.#deps.onLog('error', 'Results of deliveries could not be stored', { error: String(error) });
      });
      this.#reports.add(report);
      void report.finally(() => this.#reports.delete(report));
    }
    worker.startJobs();
  }

  async #releaseNext(results: readonly DeliveryResult[]): Promise<void> {
    const ended = results.filter(({ one, finished }) => finished.dueAt === null && one.row.ordered === true);
    const released = await releaseNextDeliveries(
      distinctDeliveryDocuments(ended.map(({ one }) => one.row)),
      this.#deps,
    );
    for (const endpoint of released) this.#deps.worker.wakeGroup(endpoint);
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
