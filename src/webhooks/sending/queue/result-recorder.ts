/**
 * Records results of attempts, many by one command, each before its lease ends. While the database is unavailable,
 * results wait in memory, and their number limits what is sent.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { backoffDelayMs } from '../../../events/log/recorder-errors.ts';
import type { WriteServerLog } from '../../../events/log/server-log-forwarder.ts';
import type { OpenBreakerState } from '../breaker.ts';
import type { FinishedAttempt } from './delivery-store.ts';
import type { HealthUpdate } from './health-store.ts';
import type { LeasedDelivery, QueueContext } from './queue-types.ts';

/** The fixed cost of a command equals that of a dozen rows. */
const GATHER_MS = 10;
const MAX_BATCH = 500;

export interface DeliveryResult {
  readonly one: LeasedDelivery;
  readonly finished: FinishedAttempt;
  /** The state of the breaker if this attempt has changed it. */
  readonly breaker: OpenBreakerState | 'closed' | null;
}

export interface ResultRecorderDeps extends Pick<QueueContext, 'store' | 'health'> {
  /** Called after results have been recorded. @param lost how many belong to other processes now */
  readonly recorded: (results: readonly DeliveryResult[], lost: number) => void;
  readonly onLog: WriteServerLog;
}

export class ResultRecorder {
  readonly #deps: ResultRecorderDeps;
  readonly #end = new AbortController();
  #waiting: DeliveryResult[] = [];
  #count = 0;
  #running: Promise<void> | null = null;

  constructor(deps: ResultRecorderDeps) {
    this.#deps = deps;
  }

  /** Results to be recorded. */
  get count(): number {
    return this.#count;
  }

  add(result: DeliveryResult): void {
    this.#waiting.push(result);
    this.#count += 1;
    this.#running ??= this.#run();
  }

  /** Records the waiting results, and drops those that cannot be recorded. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < MAX_BATCH) await pause(GATHER_MS);
      const batch = this.#waiting.splice(0, MAX_BATCH);
      await this.#record(batch);
      this.#count -= batch.length;
    }
    this.#running = null;
  }

  async #record(batch: readonly DeliveryResult[]): Promise<void> {
    const { store, health, recorded, onLog } = this.#deps;
    for (let failures = 0; ; failures += 1) {
      try {
        const [count] = await Promise.all([
          store.finish(batch.map(({ finished }) => finished)),
          health.write(newsOf(batch)),
        ]);
        recorded(batch, batch.length - count);
        return;
      } catch (error) {
        if (failures === 0) onLog('warn', 'Attempts of deliveries could not be recorded yet', { error: String(error) });
        // Their leases end, and other processes, or the next start, attempt them again.
        if (this.#end.signal.aborted) return;
        await pause(backoffDelayMs('away', failures, Math.random()), undefined, { signal: this.#end.signal }).catch(
          () => undefined,
        );
      }
    }
  }
}

/** Summarizes a batch for each endpoint. Test deliveries do not count. */
function newsOf(batch: readonly DeliveryResult[]): ReadonlyMap<string, HealthUpdate> {
  const all = new Map<string, HealthUpdate>();
  for (const { one, finished, breaker } of batch) {
    if (one.row.trigger === 'test' || (finished.attempts.length === 0 && breaker === null)) continue;
    const known = all.get(one.endpoint);
    const news = known ?? { lastSuccessAt: null, lastFailureAt: null, failingSince: null, breaker: null };
    if (known === undefined) all.set(one.endpoint, news);
    for (const { at, error } of finished.attempts) {
      if (error === null) news.lastSuccessAt = at;
      else news.lastFailureAt = at;
      news.failingSince = error === null ? null : (news.failingSince ?? at);
    }
    if (breaker !== null) news.breaker = breaker;
  }
  return all;
}
