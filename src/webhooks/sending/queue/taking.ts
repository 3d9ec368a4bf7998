/**
 * Takes deliveries that are due for this process. It looks when something may be due: after a start, when woken, at the next
 * time that it knows of, and when the line of an endpoint runs dry of which more is stored. So an idle process asks the
 * database nothing. Not here: sending what was taken (dispatcher.ts).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { backOff, classifyError } from '../../../events/log/log-errors.ts';
import type { Note } from '../../../events/log/note.ts';
import { inOrder } from './ordering.ts';
import { type EndpointState, type Shared, sendBefore, type TakenDelivery } from './taken.ts';

/** Endpoints of one command. */
const MAX_ENDPOINTS = 64;
/** Looks for everything that is due are at least so far apart, in milliseconds, however often this is woken. */
const LOOK_MS = 50;
/** After this time it is looked again for what was found and not got: others have it, or the clocks differ a little. */
const AGAIN_MS = 100;
const MAX_TIMER_MS = 6 * 3_600_000;

export interface TakingParts extends Shared {
  /** Called after deliveries were put into lines. */
  readonly send: () => void;
  readonly onNote: Note;
}

export class Taking {
  readonly #parts: TakingParts;
  readonly #end = new AbortController();
  /** Endpoints of which more may be due in the database; the one that is next comes first. */
  readonly #more = new Set<string>();
  /** Endpoints that were told to have something due while the database was asked: its answer may lack that. */
  readonly #cameMeanwhile = new Set<string>();
  #all = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** When the next delivery is due that is not due yet, in milliseconds since 1970. */
  #nextDue = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;
  #started = false;

  constructor(parts: TakingParts) {
    this.#parts = parts;
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

  /** Looks for everything that is due. */
  wake(): void {
    this.#all = true;
    this.#begin();
  }

  /** An endpoint has deliveries that are due. */
  due(endpoint: string): void {
    this.#more.add(endpoint);
    this.#cameMeanwhile.add(endpoint);
    this.#begin();
  }

  /** A delivery will be due at a time, in milliseconds since 1970. */
  dueAt(time: number): void {
    if (time >= this.#nextDue) return;
    this.#nextDue = time;
    this.#begin();
  }

  /** Puts a delivery that this process has taken into the line of its endpoint. */
  push(one: Omit<TakenDelivery, 'endpoint' | 'size'>): void {
    this.#parts.slots.push({ ...one, endpoint: one.row.endpoint, size: one.body?.length ?? 0 });
  }

  /** Whether earlier deliveries of an endpoint may still wait in the database. */
  isBehind(endpoint: string): boolean {
    return this.#more.has(endpoint);
  }

  forget(endpoint: string): void {
    this.#more.delete(endpoint);
  }

  /** Lines may have run dry. */
  refill(): void {
    if (this.#more.size > 0) this.#begin();
  }

  #begin(): void {
    if (!this.#started || this.#end.signal.aborted || this.#running !== null) return;
    const now = this.#parts.clock.now();
    if (this.#all || this.#wanted(now).length > 0) this.#running = this.#run();
    else this.#setTimer(now);
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    const { clock } = this.#parts;
    let failures = 0;
    let now = clock.now();
    while (!signal.aborted) {
      try {
        await clock.refresh();
        if (this.#all) await this.#lookAtAll();
        now = clock.now();
        const wanted = this.#wanted(now);
        if (wanted.length === 0 && !this.#all) break;
        await this.#take(wanted);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (failures === 0) this.#parts.onNote('warn', 'Deliveries could not be taken yet', { fault: String(error) });
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
    const { store, health, clock, endpoints } = this.#parts;
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
      if (openUntil !== undefined) endpoints.get(_id)?.breaker.adopt({ openUntil: openUntil.getTime(), pauseMs });
    }
    for (const endpoint of due) this.#more.add(endpoint);
    this.#nextDue = Math.min(this.#nextDue, next?.getTime() ?? Number.POSITIVE_INFINITY);
  }

  /** The endpoints of which more can be taken now, and how many deliveries of each. */
  #wanted(now: number): readonly { readonly endpoint: string; readonly count: number }[] {
    const { slots } = this.#parts;
    const wanted: { endpoint: string; count: number }[] = [];
    for (const endpoint of this.#more) {
      if (wanted.length === MAX_ENDPOINTS) break;
      const state = this.#open(endpoint, now);
      if (state === null || !slots.runsDry(endpoint)) continue;
      const rate = state.target.ratePerSecond;
      const most =
        state.breaker.state(now) === 'half-open' ? 1 : rate === null ? Number.POSITIVE_INFINITY : Math.max(1, rate);
      const count = Math.min(slots.room(endpoint), Math.floor(most));
      if (count > 0) wanted.push({ endpoint, count });
    }
    return wanted;
  }

  /** The state of an endpoint to which deliveries may go now. */
  #open(endpoint: string, now: number): EndpointState | null {
    const state = this.#parts.endpoints.get(endpoint);
    if (state === undefined || !state.target.enabled) return null;
    return now >= Math.max(state.notBefore, state.heldUntil) && state.breaker.state(now) !== 'open' ? state : null;
  }

  async #take(wanted: readonly { readonly endpoint: string; readonly count: number }[]): Promise<void> {
    const { store, clock, limits, send } = this.#parts;
    const probes = await this.#claimProbes(wanted.map(({ endpoint }) => endpoint));
    const now = clock.now();
    const still = wanted.filter(({ endpoint }) => probes.has(endpoint) || this.#closed(endpoint));
    this.#cameMeanwhile.clear();
    const found = await store.pick(still, new Date(now));
    const counts = Map.groupBy(found, ({ endpoint }) => endpoint);
    for (const { endpoint, count } of still) {
      this.#more.delete(endpoint);
      // At the end of the line, so that all get their turn.
      if (counts.get(endpoint)?.length === count || this.#cameMeanwhile.has(endpoint)) this.#more.add(endpoint);
    }
    const take = randomUUID();
    const until = sendBefore(limits);
    const taken = await store.take(found, take, limits.leaseMs);
    if (taken.length < found.length) this.dueAt(now + AGAIN_MS);
    const { ready, released } = await inOrder(taken, take, this.#parts);
    for (const endpoint of released) this.#more.add(endpoint);
    const bodies = await store.bodies(ready.flatMap(({ bodyRef }) => bodyRef ?? []));
    for (const [endpoint, rows] of Map.groupBy(ready, (row) => row.endpoint)) {
      // What a service has taken already is only asked about, which needs no place of the rate.
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
    return this.#parts.endpoints.get(endpoint)?.breaker.open === null;
  }

  /** The endpoints whose breakers are half-open and of which this process may make the probe. */
  async #claimProbes(endpoints: readonly string[]): Promise<ReadonlySet<string>> {
    const { health, clock, limits } = this.#parts;
    const claimed = new Set<string>();
    for (const endpoint of endpoints) {
      const breaker = this.#parts.endpoints.get(endpoint)?.breaker;
      if (breaker === undefined || breaker.open === null) continue;
      const { pauseMs } = breaker.open;
      if (await health.claimProbe(endpoint, limits.leaseMs)) {
        breaker.adopt({ openUntil: clock.now() + limits.leaseMs, pauseMs });
        claimed.add(endpoint);
        continue;
      }
      // Another process makes it, or has ended it.
      const [row] = await health.of([endpoint]);
      const { openUntil } = row ?? {};
      breaker.adopt(openUntil === undefined ? null : { openUntil: openUntil.getTime(), pauseMs: row?.pauseMs ?? 0 });
    }
    return claimed;
  }

  /** When deliveries may be sent, by the monotonic clock; for an endpoint without a rate at once. */
  async #places(endpoint: string, count: number): Promise<readonly number[]> {
    const { endpoints, health, clock } = this.#parts;
    const state = endpoints.get(endpoint);
    const rate = state?.target.ratePerSecond ?? null;
    if (state === undefined || rate === null || count === 0) return [];
    const step = 1_000 / rate;
    const first = await health.reserve(endpoint, count, step);
    state.notBefore = first + count * step;
    const here = performance.now() - clock.now();
    return Array.from({ length: count }, (_, index) => first + index * step + here);
  }

  /** @param now the time at which nothing was wanted. With a later one, an endpoint whose time came in between would be missed. */
  #setTimer(now: number): void {
    clearTimeout(this.#timer);
    if (this.#end.signal.aborted) return;
    const { endpoints } = this.#parts;
    let next = this.#nextDue;
    for (const endpoint of this.#more) {
      const state = endpoints.get(endpoint);
      if (state === undefined || !state.target.enabled) continue;
      const opens = Math.max(state.notBefore, state.heldUntil, state.breaker.open?.openUntil ?? 0);
      // Others wait for room, which the end of a call makes.
      if (opens > now) next = Math.min(next, opens);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#onTime(), Math.min(Math.max(next - now, 1), MAX_TIMER_MS));
  }

  #onTime(): void {
    if (this.#nextDue <= this.#parts.clock.now()) this.wake();
    else this.#begin();
  }
}
