/**
 * Leases due deliveries for this process. It polls only when something may be due: after a start, when woken, at the
 * next known due time, and when the queue of an endpoint with more stored deliveries runs empty. So an idle process
 * sends the database no queries.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { LogCallback } from '../../../events/log/log-callback.ts';
import { backOff, classifyError } from '../../../events/log/recorder-errors.ts';
import { selectNextInOrder } from './ordering.ts';
import { type EndpointState, type LeasedDelivery, type QueueContext, sendDeadline } from './queue-types.ts';

/** Endpoints of one command. */
const MAX_ENDPOINTS = 64;
/** Minimum interval between polls for everything that is due, in milliseconds. */
const LOOK_MS = 50;
/**
 * Interval after which deliveries that were found but not leased are polled again: other processes hold them, or the
 * clocks differ slightly. Milliseconds.
 */
const AGAIN_MS = 100;
const MAX_TIMER_MS = 6 * 3_600_000;

export interface DeliveryLeaserDeps extends QueueContext {
  /** Called after deliveries were queued. */
  readonly send: () => void;
  readonly onLog: LogCallback;
}

export class DeliveryLeaser {
  readonly #deps: DeliveryLeaserDeps;
  readonly #end = new AbortController();
  /** Endpoints of which more may be due in the database; the next one first. */
  readonly #more = new Set<string>();
  /** Endpoints that became due during a poll, whose result may lack that. */
  readonly #cameMeanwhile = new Set<string>();
  #all = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The next due time, in milliseconds since 1970. */
  #nextDue = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;
  #started = false;

  constructor(deps: DeliveryLeaserDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#started = true;
    this.wake();
  }

  async stop(): Promise<void> {
    this.#end.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Polls for everything that is due. */
  wake(): void {
    this.#all = true;
    this.#begin();
  }

  /** An endpoint has due deliveries. */
  due(endpoint: string): void {
    this.#more.add(endpoint);
    this.#cameMeanwhile.add(endpoint);
    this.#begin();
  }

  /** A delivery becomes due at a time, in milliseconds since 1970. */
  dueAt(time: number): void {
    if (time >= this.#nextDue) return;
    this.#nextDue = time;
    this.#begin();
  }

  /** Queues a leased delivery for its endpoint. */
  push(one: Omit<LeasedDelivery, 'endpoint' | 'size'>): void {
    this.#deps.slots.push({ ...one, endpoint: one.row.endpoint, size: one.body?.length ?? 0 });
  }

  /** Whether earlier deliveries of an endpoint may still wait in the database. */
  isBehind(endpoint: string): boolean {
    return this.#more.has(endpoint);
  }

  forget(endpoint: string): void {
    this.#more.delete(endpoint);
  }

  /** Queues may have run empty. */
  refill(): void {
    if (this.#more.size > 0) this.#begin();
  }

  #begin(): void {
    if (!this.#started || this.#end.signal.aborted || this.#running !== null) return;
    const now = this.#deps.clock.now();
    if (this.#all || this.#requested(now).length > 0) this.#running = this.#run();
    else this.#setTimer(now);
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    const { clock } = this.#deps;
    let failures = 0;
    let now = clock.now();
    while (!signal.aborted) {
      try {
        await clock.refresh();
        if (this.#all) await this.#lookAtAll();
        now = clock.now();
        const requested = this.#requested(now);
        if (requested.length === 0 && !this.#all) break;
        await this.#take(requested);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (failures === 0) this.#deps.onLog('warn', 'Deliveries could not be leased yet', { error: String(error) });
        this.#all = true;
        await pause(backOff(classifyError(error), failures, Math.random()), undefined, { signal }).catch(
          () => undefined,
        );
        failures += 1;
      }
    }
    this.#running = null;
    this.#setTimer(now);
  }

  async #lookAtAll(): Promise<void> {
    const { store, health, clock, endpoints } = this.#deps;
    const early = this.#lookedAt + LOOK_MS - performance.now();
    if (early > 0) await pause(early, undefined, { signal: this.#end.signal });
    this.#all = false;
    this.#lookedAt = performance.now();
    const enabled = [...endpoints].filter(([, { target }]) => target.enabled).map(([id]) => id);
    if (enabled.length === 0) return;
    this.#nextDue = Number.POSITIVE_INFINITY;
    const now = new Date(clock.now());
    const [due, open, next] = await Promise.all([store.dueEndpoints(enabled, now), health.open(), store.nextDue(now)]);
    for (const { _id, openUntil, pauseMs = 0 } of open) {
      if (openUntil !== undefined) endpoints.get(_id)?.breaker.restore({ openUntil: openUntil.getTime(), pauseMs });
    }
    for (const endpoint of due) this.#more.add(endpoint);
    this.#nextDue = Math.min(this.#nextDue, next?.getTime() ?? Number.POSITIVE_INFINITY);
  }

  /** The endpoints of which more can be leased now, and how many deliveries of each. */
  #requested(now: number): readonly { readonly endpoint: string; readonly count: number }[] {
    const { slots } = this.#deps;
    const requested: { endpoint: string; count: number }[] = [];
    for (const endpoint of this.#more) {
      if (requested.length === MAX_ENDPOINTS) break;
      const state = this.#open(endpoint, now);
      if (state === null || !slots.isRunningLow(endpoint)) continue;
      const rate = state.target.ratePerSecond;
      const most =
        state.breaker.state(now) === 'half-open' ? 1 : rate === null ? Number.POSITIVE_INFINITY : Math.max(1, rate);
      const count = Math.min(slots.room(endpoint), Math.floor(most));
      if (count > 0) requested.push({ endpoint, count });
    }
    return requested;
  }

  /** The state of an endpoint to which deliveries may be sent now. */
  #open(endpoint: string, now: number): EndpointState | null {
    const state = this.#deps.endpoints.get(endpoint);
    if (state === undefined || !state.target.enabled) return null;
    return now >= Math.max(state.notBefore, state.heldUntil) && state.breaker.state(now) !== 'open' ? state : null;
  }

  async #take(requested: readonly { readonly endpoint: string; readonly count: number }[]): Promise<void> {
    const { store, clock, limits, send } = this.#deps;
    const probes = await this.#claimProbes(requested.map(({ endpoint }) => endpoint));
    const now = clock.now();
    const still = requested.filter(({ endpoint }) => probes.has(endpoint) || this.#closed(endpoint));
    this.#cameMeanwhile.clear();
    const found = await store.findDue(still, new Date(now));
    const counts = Map.groupBy(found, ({ endpoint }) => endpoint);
    for (const { endpoint, count } of still) {
      this.#more.delete(endpoint);
      // Moved to the end, so that all endpoints get their turn.
      if (counts.get(endpoint)?.length === count || this.#cameMeanwhile.has(endpoint)) this.#more.add(endpoint);
    }
    const take = randomUUID();
    const until = sendDeadline(limits);
    const taken = await store.take(found, take, limits.leaseMs);
    if (taken.length < found.length) this.dueAt(now + AGAIN_MS);
    const { ready, released } = await selectNextInOrder(taken, take, this.#deps);
    for (const endpoint of released) this.#more.add(endpoint);
    const bodies = await store.bodies(ready.flatMap(({ bodyRef }) => bodyRef ?? []));
    for (const [endpoint, rows] of Map.groupBy(ready, (row) => row.endpoint)) {
      // A delivery that Svix has accepted is only polled, which needs no rate slot.
      const calls = rows.filter(({ handed }) => handed?.since === undefined);
      const times = await this.#places(endpoint, calls.length);
      for (const [index, row] of rows.entries()) {
        const body = row.body ?? bodies.get(row.bodyRef?.toHexString() ?? '') ?? null;
        const probe = probes.has(endpoint) && index === 0;
        this.push({ row, body, take, sendBefore: until, probe, notBefore: times[calls.indexOf(row)] ?? 0 });
      }
    }
    send();
  }

  #closed(endpoint: string): boolean {
    return this.#deps.endpoints.get(endpoint)?.breaker.open === null;
  }

  /** The endpoints with half-open breakers whose probe this process may send. */
  async #claimProbes(endpoints: readonly string[]): Promise<ReadonlySet<string>> {
    const { health, clock, limits } = this.#deps;
    const claimed = new Set<string>();
    for (const endpoint of endpoints) {
      const breaker = this.#deps.endpoints.get(endpoint)?.breaker;
      if (breaker === undefined || breaker.open === null) continue;
      const { pauseMs } = breaker.open;
      if (await health.claimProbe(endpoint, limits.leaseMs)) {
        breaker.restore({ openUntil: clock.now() + limits.leaseMs, pauseMs });
        claimed.add(endpoint);
        continue;
      }
      // Another process sends it, or has ended it.
      const [row] = await health.of([endpoint]);
      const { openUntil } = row ?? {};
      breaker.restore(openUntil === undefined ? null : { openUntil: openUntil.getTime(), pauseMs: row?.pauseMs ?? 0 });
    }
    return claimed;
  }

  /** When deliveries may be sent, by the monotonic clock; at once for an endpoint without a rate. */
  async #places(endpoint: string, count: number): Promise<readonly number[]> {
    const { endpoints, health, clock } = this.#deps;
    const state = endpoints.get(endpoint);
    const rate = state?.target.ratePerSecond ?? null;
    if (state === undefined || rate === null || count === 0) return [];
    const step = 1_000 / rate;
    const first = await health.reserve(endpoint, count, step);
    state.notBefore = first + count * step;
    const here = performance.now() - clock.now();
    return Array.from({ length: count }, (_, index) => first + index * step + here);
  }

  /**
   * @param now the time at which nothing was sendable. With a later one, an endpoint whose time came in between would
   * be missed.
   */
  #setTimer(now: number): void {
    clearTimeout(this.#timer);
    if (this.#end.signal.aborted) return;
    const { endpoints } = this.#deps;
    let next = this.#nextDue;
    for (const endpoint of this.#more) {
      const state = endpoints.get(endpoint);
      if (state === undefined || !state.target.enabled) continue;
      const opens = Math.max(state.notBefore, state.heldUntil, state.breaker.open?.openUntil ?? 0);
      // Others wait for a slot, which the end of a request frees.
      if (opens > now) next = Math.min(next, opens);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#onTime(), Math.min(Math.max(next - now, 1), MAX_TIMER_MS));
  }

  #onTime(): void {
    if (this.#nextDue <= this.#deps.clock.now()) this.wake();
    else this.#begin();
  }
}
