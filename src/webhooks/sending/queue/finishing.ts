/**
 * Records the ends of tries: many by one command, each before its lease ends. While the database is away, results wait in
 * memory, and no more is sent than they may be. Not here: what follows from a try (outcome.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { backOff } from '../../../events/log/log-errors.ts';
import type { Note } from '../../../events/log/note.ts';
import type { OpenState } from '../breaker.ts';
import type { Finished } from './delivery-store.ts';
import type { HealthNews } from './health-store.ts';
import type { Shared, TakenDelivery } from './taken.ts';

/** A command costs as much as a dozen of the rows in it. */
const GATHER_MS = 10;
const MAX_BATCH = 500;

export interface Result {
  readonly one: TakenDelivery;
  readonly finished: Finished;
  /** The state of the breaker when this try has changed it. */
  readonly breaker: OpenState | 'closed' | null;
}

export interface FinishingParts extends Pick<Shared, 'store' | 'health'> {
  /** Called after results have been recorded. @param lost how many of them belong to other processes now */
  readonly recorded: (results: readonly Result[], lost: number) => void;
  readonly onNote: Note;
}

export class Finishing {
  readonly #parts: FinishingParts;
  readonly #end = new AbortController();
  #waiting: Result[] = [];
  #count = 0;
  #running: Promise<void> | null = null;

  constructor(parts: FinishingParts) {
    this.#parts = parts;
  }

  /** Results that are not recorded yet. */
  get count(): number {
    return this.#count;
  }

  add(result: Result): void {
    this.#waiting.push(result);
    this.#count += 1;
    this.#running ??= this.#run();
  }

  /** Records what waits, and gives up what cannot be recorded. */
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

  async #record(batch: readonly Result[]): Promise<void> {
    const { store, health, recorded, onNote } = this.#parts;
    for (let failures = 0; ; failures += 1) {
      try {
        const [count] = await Promise.all([
          store.finish(batch.map(({ finished }) => finished)),
          health.write(newsOf(batch)),
        ]);
        recorded(batch, batch.length - count);
        return;
      } catch (error) {
        if (failures === 0) onNote('warn', 'Tries of deliveries could not be recorded yet', { fault: String(error) });
        // Their leases end, and other processes, or the next start, try them again.
        if (this.#end.signal.aborted) return;
        await pause(backOff('away', failures, Math.random()), undefined, { signal: this.#end.signal }).catch(
          () => undefined,
        );
      }
    }
  }
}

/** What a batch says about each endpoint. Deliveries that try an endpoint out say nothing. */
function newsOf(batch: readonly Result[]): ReadonlyMap<string, HealthNews> {
  const all = new Map<string, HealthNews>();
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
