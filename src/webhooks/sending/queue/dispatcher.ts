/**
 * Sends what this process has taken, and says what follows: for the delivery, its endpoint, and the next one in line. Not
 * here: which deliveries are taken (taking.ts) and how their ends are written (finishing.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Note } from '../../../events/log/note.ts';
import { retry } from '../../../kernel/concurrency/retry.ts';
import { GONE } from '../outcome.ts';
import type { Delivery, SenderEvents } from '../sender.ts';
import { toDelivery } from './delivery-row.ts';
import { Finishing, type Result } from './finishing.ts';
import { linesOf, releaseNext } from './ordering.ts';
import type { EndpointState, Shared, TakenDelivery } from './taken.ts';
import { Taking } from './taking.ts';
import type { Transport } from './transport.ts';

/** An endpoint is disabled when nothing succeeded for so long since the first failure, in milliseconds. */
const FAILING_MS = 120 * 3_600_000;
/** Results that may wait for being recorded. */
const MAX_UNRECORDED = 1_000;
/** How long calls under way may still take when the program ends, in milliseconds. */
const STOP_MS = 5_000;
/** How long it is tried to report what has happened, while the database is away. */
const REPORT = { limitMs: 30_000, delayMs: 100, maxDelayMs: 2_000, retryable: () => true } as const;

export interface DispatcherParts extends Shared {
  readonly transport: Transport;
  readonly events: SenderEvents;
  readonly onNote: Note;
}

export class Dispatcher {
  readonly taking: Taking;
  readonly #parts: DispatcherParts;
  readonly #finishing: Finishing;
  readonly #reports = new Set<Promise<void>>();
  /** Runs at the next place in time of an endpoint with a rate. */
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.taking = new Taking({ ...parts, send: () => this.send() });
    this.#finishing = new Finishing({ ...parts, recorded: (results, lost) => this.#recorded(results, lost) });
  }

  /** Whether new deliveries may still be taken. */
  get ended(): boolean {
    return this.#ended;
  }

  async stop(): Promise<void> {
    const { slots } = this.#parts;
    this.#ended = true;
    clearTimeout(this.#timer);
    await this.taking.stop();
    await this.#giveBack(slots.withdraw(() => true));
    const end = performance.now() + STOP_MS;
    while (slots.underWay > 0 && performance.now() < end) await pause(10);
    await this.#finishing.stop();
    await Promise.all(this.#reports);
  }

  /** Sends what waits in lines, as far as there are places. */
  send(): void {
    const { slots } = this.#parts;
    clearTimeout(this.#timer);
    if (this.#ended) return;
    // One time for all of this: a place that comes in between would be missed by the loop, and by the timer.
    const now = performance.now();
    while (this.#finishing.count < MAX_UNRECORDED) {
      const one = slots.next(now);
      if (one === undefined) break;
      void this.#send(one);
    }
    this.taking.refill();
    const next = slots.nextTime();
    if (next !== null && next > now) this.#timer = setTimeout(() => this.send(), next - now);
  }

  async #send(one: TakenDelivery): Promise<void> {
    const { endpoints, slots, clock, transport } = this.#parts;
    const state = endpoints.get(one.endpoint);
    const { trigger, _id: id } = one.row;
    if (state === undefined || !state.target.enabled) {
      slots.end(one, null);
      return;
    }
    const isLate = ({ sendBefore }: TakenDelivery) => performance.now() > sendBefore;
    if (isLate(one)) {
      slots.end(one, null);
      await this.#giveBack([one, ...slots.withdraw(isLate)]);
      return;
    }
    // The breaker has opened since it was taken.
    if (state.breaker.open !== null && !one.probe && trigger !== 'test') {
      slots.end(one, null);
      await this.#giveBack([one]);
      return;
    }
    const { succeeded, judged, outcome, holdMs, ...kept } = await transport.send(one, state.target, clock.now());
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

  /** Gives back what was taken and not sent, so that it is due at once. */
  async #giveBack(all: readonly TakenDelivery[]): Promise<void> {
    const { store, clock, limits, onNote } = this.#parts;
    const due = new Date(clock.now());
    try {
      await store.putBack(all.map(({ row, take }) => ({ id: row._id, take, due, held: false })));
    } catch (error) {
      onNote('warn', 'Deliveries could not be given back before their leases end', { fault: String(error) });
      this.taking.dueAt(due.getTime() + limits.leaseMs);
    }
    for (const { endpoint } of all) this.taking.due(endpoint);
  }

  #recorded(results: readonly Result[], lost: number): void {
    // Others have them now, or their leases have ended.
    if (lost > 0) this.taking.wake();
    for (const { finished } of results) if (finished.due !== null) this.taking.dueAt(finished.due.getTime());
    const steps = [() => this.#release(results), () => this.#reportDead(results), () => this.#disable(results)];
    for (const step of steps) {
      const report = retry(step, REPORT).catch((error: unknown) => {
        this.#parts.onNote('error', 'What follows from deliveries could not be written', { fault: String(error) });
      });
      this.#reports.add(report);
      void report.finally(() => this.#reports.delete(report));
    }
    this.send();
  }

  async #release(results: readonly Result[]): Promise<void> {
    const ended = results.filter(({ one, finished }) => finished.due === null && one.row.ordered === true);
    const released = await releaseNext(linesOf(ended.map(({ one }) => one.row)), this.#parts);
    for (const endpoint of released) this.taking.due(endpoint);
  }

  async #reportDead(results: readonly Result[]): Promise<void> {
    const dead = results.filter(({ finished }) => finished.state === 'dead');
    if (dead.length > 0) await this.#parts.events.onDead(dead.map(endedDelivery));
  }

  async #disable(results: readonly Result[]): Promise<void> {
    const { endpoints, health, clock, events } = this.#parts;
    const gone = new Set<string>();
    const failing = new Set<string>();
    for (const { one, finished } of results) {
      const state = endpoints.get(one.endpoint);
      if (state === undefined || one.row.trigger === 'test') continue;
      for (const { at, error, status } of finished.attempts) {
        state.failingSince = error === null ? null : (state.failingSince ?? at.getTime());
        if (status === GONE) gone.add(one.endpoint);
        else if (state.failingSince !== null && at.getTime() - state.failingSince >= FAILING_MS)
          failing.add(one.endpoint);
      }
    }
    for (const endpoint of gone) await events.onDisable(endpoint, 'gone');
    for (const row of failing.size === 0 ? [] : await health.of([...failing])) {
      // Another process may have succeeded.
      const since = row.failingSince?.getTime() ?? Number.POSITIVE_INFINITY;
      if (clock.now() - since >= FAILING_MS) await events.onDisable(row._id, 'failing');
    }
  }
}

/** Counts a try for the breaker. @returns its state when it has changed */
function judge(
  { breaker }: EndpointState,
  { probe }: TakenDelivery,
  succeeded: boolean,
  now: number,
): Result['breaker'] {
  const before = breaker.open;
  if (probe) breaker.probed(succeeded, now);
  else breaker.count(succeeded, now);
  return breaker.open === before ? null : (breaker.open ?? 'closed');
}

function endedDelivery({ one, finished: { attempts, at, state } }: Result): Delivery {
  const { row } = one;
  return toDelivery({ ...row, state, count: row.count + attempts.length, finishedAt: at, attempts });
}
