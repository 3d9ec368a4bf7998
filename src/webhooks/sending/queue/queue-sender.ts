/**
 * The base of all senders: stores deliveries in MongoDB, leases due ones, passes them to its transport, and records the
 * results. All processes send: each leases what it can send now. A new delivery with a free slot is sent at once, from
 * memory; all others are leased from the database. A delivery whose process died before recording the result is sent
 * again, with the same id.
 */
import { randomUUID } from 'node:crypto';
import type { Mongo } from '../../../database/mongo.ts';
import type { WriteServerLog } from '../../../events/log/server-log-forwarder.ts';
import { Worker } from '../../../queue/worker.ts';
import type { EndpointDeliverySettings } from '../../endpoint/endpoint.ts';
import { CircuitBreaker } from '../breaker.ts';
import { EndpointConcurrency } from '../endpoint-concurrency.ts';
import type {
  Attempt,
  Delivery,
  DeliveryPage,
  DeliveryQuery,
  EndpointHealth,
  NewDelivery,
  Sender,
  SenderEvents,
  SenderHealth,
} from '../sender.ts';
import { DeliveryAttemptRunner } from './delivery-attempt-runner.ts';
import { DeliveryListStore } from './delivery-list-store.ts';
import type { DeliveryRow } from './delivery-row.ts';
import { DeliveryStore } from './delivery-store.ts';
import { type HealthRow, HealthStore } from './health-store.ts';
import { findDueEndpoints, leasableCount, leaseDeliveries, opensAt, toLeasedDelivery } from './lease-deliveries.ts';
import { splitIntoBatches, toDeliveryRow } from './new-delivery-rows.ts';
import {
  type EndpointState,
  type LeasedDelivery,
  type QueueContext,
  SENDER_LIMITS,
  type SenderLimits,
  sendDeadline,
} from './queue-types.ts';
import { ServerClock } from './server-clock.ts';
import type { Transport } from './transport.ts';

export interface QueueSenderOptions {
  readonly mongo: Pick<Mongo, 'log'>;
  readonly events: SenderEvents;
  readonly onLog?: WriteServerLog;
  /** Milliseconds by which the sender's clock is ahead of the server's; for tests. */
  readonly clockOffsetMs?: () => number;
  readonly limits?: Partial<SenderLimits>;
}

const MAX_REMOVED = 1_000;
/** Minimum interval between two looks for everything that is due, in milliseconds. */
const LOOK_MS = 50;
/** Time for active requests when the program ends, in milliseconds. */
const STOP_MS = 5_000;

export class BaseQueueSender implements Sender {
  readonly #transport: Transport;
  readonly #context: QueueContext;
  readonly #lists: DeliveryListStore;
  readonly #endpoints = new Map<string, EndpointState>();
  readonly #worker: Worker<LeasedDelivery>;
  readonly #attempts: DeliveryAttemptRunner;
  /** Endpoints that were removed: what is submitted for them a moment later is canceled. */
  readonly #removed = new Set<string>();
  /** Health at the start, of endpoints that are not registered yet. */
  #restored = new Map<string, HealthRow>();

  constructor(transport: Transport, options: QueueSenderOptions) {
    const { mongo, events } = options;
    const { clockOffsetMs: offset = () => 0, onLog = () => undefined } = options;
    const limits = { ...SENDER_LIMITS, ...options.limits };
    const store = new DeliveryStore(mongo, offset);
    const health = new HealthStore(mongo, offset);
    const clock = new ServerClock(() => store.serverTime(), offset);
    const slots = new EndpointConcurrency<LeasedDelivery>(limits.calls);
    this.#transport = transport;
    this.#lists = new DeliveryListStore(mongo);
    const worker: Worker<LeasedDelivery> = new Worker({
      now: () => clock.now(),
      findGroups: () => findDueEndpoints(context),
      room: (endpoint, now) => leasableCount(context, endpoint, now),
      opensAt: (endpoint) => opensAt(this.#endpoints.get(endpoint)),
      findJobs: (requests) => leaseDeliveries(context, requests),
      next: (time) => (attempts.isFull ? undefined : slots.next(time)),
      nextTime: () => slots.nextTime(),
      handle: (one) => attempts.attempt(one),
      release: () => attempts.release(slots.withdraw(() => true)),
      minLookMs: LOOK_MS,
      onError: (error) => onLog('warn', 'Deliveries could not be leased yet', { error: String(error) }),
    });
    const context: QueueContext = { store, health, clock, endpoints: this.#endpoints, slots, limits, worker };
    const attempts = new DeliveryAttemptRunner({ ...context, transport, events, onLog });
    this.#context = context;
    this.#worker = worker;
    this.#attempts = attempts;
  }

  async start(): Promise<void> {
    const { store, clock, health } = this.#context;
    await store.start();
    await clock.refresh();
    this.#restored = new Map((await health.all()).map((row) => [row._id, row]));
    for (const [id, state] of this.#endpoints) this.#restore(id, state);
    await this.#transport.start();
    this.#worker.start();
  }

  async stop(): Promise<void> {
    await this.#worker.stop(STOP_MS);
    await this.#attempts.stop();
    await this.#transport.stop();
  }

  state(): SenderHealth {
    return this.#transport.state();
  }

  async ensureEndpoint(target: EndpointDeliverySettings): Promise<void> {
    const { id, url, enabled } = target;
    const known = this.#endpoints.get(id);
    const before = known?.target;
    const state = known ?? { target, breaker: new CircuitBreaker(), failingSince: null, notBefore: 0, heldUntil: 0 };
    state.target = target;
    state.heldUntil = 0;
    this.#endpoints.set(id, state);
    this.#transport.ensureEndpoint(target);
    this.#removed.delete(id);
    if (known === undefined) this.#restore(id, state);
    if (before !== undefined && (before.url !== url || (enabled && !before.enabled))) {
      state.breaker.close();
      state.failingSince = null;
      await this.#context.health.reset(id);
    }
    if (enabled) this.#worker.wake();
    else await this.#discard(id);
  }

  headerIssue(name: string): string | null {
    return this.#transport.headerIssue(name);
  }

  async removeEndpoint(id: string): Promise<void> {
    this.#endpoints.delete(id);
    this.#restored.delete(id);
    if (this.#removed.size >= MAX_REMOVED) this.#removed.clear();
    this.#removed.add(id);
    this.#transport.removeEndpoint(id);
    await this.#discard(id);
    await this.#context.health.remove(id);
    this.#context.slots.forget(id);
  }

  async submit(deliveries: readonly NewDelivery[]): Promise<void> {
    await this.#context.clock.refresh();
    for (const batch of splitIntoBatches(deliveries)) await this.#submit(batch);
  }

  wake(): void {
    this.#worker.wake();
  }

  async deliveries(query: DeliveryQuery): Promise<DeliveryPage> {
    return await this.#lists.page(query);
  }

  async delivery(id: string): Promise<{ readonly delivery: Delivery; readonly body: string | null } | null> {
    return await this.#lists.one(id);
  }

  async attempts(id: string): Promise<readonly Attempt[]> {
    return await this.#lists.attempts(id);
  }

  async resend(id: string): Promise<Delivery | null> {
    await this.#context.clock.refresh();
    if (!(await this.#context.store.resend(id, new Date(this.#context.clock.now())))) return null;
    this.wake();
    return (await this.#lists.one(id))?.delivery ?? null;
  }

  async recover(endpoint: string, since: Date, but: readonly string[] = []): Promise<number> {
    await this.#context.clock.refresh();
    const count = await this.#context.store.recover(endpoint, since, but, new Date(this.#context.clock.now()));
    if (count > 0) this.wake();
    return count;
  }

  async health(endpoints: readonly string[]): Promise<ReadonlyMap<string, EndpointHealth>> {
    const [rows, pending] = await Promise.all([
      this.#context.health.of(endpoints),
      this.#context.store.pending(endpoints),
    ]);
    const byId = new Map(rows.map((row) => [row._id, row]));
    const now = this.#context.clock.now();
    return new Map(
      endpoints.map((id) => [
        id,
        { ...healthOf(byId.get(id), pending.get(id) ?? 0, now), error: this.#transport.issue(id) },
      ]),
    );
  }

  #restore(id: string, state: EndpointState): void {
    const row = this.#restored.get(id);
    this.#restored.delete(id);
    if (row?.failingSince !== undefined) state.failingSince = row.failingSince.getTime();
    const { openUntil, pauseMs = 0 } = row ?? {};
    if (openUntil !== undefined) state.breaker.restore({ openUntil: openUntil.getTime(), pauseMs });
  }

  async #discard(id: string): Promise<void> {
    this.#worker.forget(id);
    this.#context.slots.withdraw(({ endpoint }) => endpoint === id);
    await this.#context.store.discard(id, new Date(this.#context.clock.now()));
  }

  /** Stores deliveries. The insert also leases those with a free slot, which need not be read again. */
  async #submit(batch: readonly NewDelivery[]): Promise<void> {
    const { clock, limits, slots } = this.#context;
    const [now, token, sendBefore] = [clock.now(), randomUUID(), sendDeadline(limits)];
    const rows = await this.#toRows(batch, token, now);
    const known = await this.#insert(rows, now);
    for (const [index, row] of rows.entries()) {
      const body = batch[index]?.body ?? null;
      if (row.state !== 'pending') continue;
      if (known.has(index)) this.#worker.wakeAt(row.trigger === 'replay' ? now : now + limits.leaseMs);
      else if (row.token === null) this.#worker.wakeGroup(row.endpoint);
      else slots.push(toLeasedDelivery({ row, body, token, notBefore: 0, sendBefore, probe: false }));
    }
    this.#worker.startJobs();
    for (const id of new Set(rows.map(({ endpoint }) => endpoint))) {
      // It was disabled or removed meanwhile, after its pending deliveries had been canceled.
      if (this.#removed.has(id) || this.#endpoints.get(id)?.target.enabled === false) await this.#discard(id);
    }
  }

  /**
   * The rows of deliveries, of which as many are leased as this process has slots for. A shared body is stored once.
   */
  async #toRows(batch: readonly NewDelivery[], token: string, now: number): Promise<readonly DeliveryRow[]> {
    const { store, limits } = this.#context;
    const counts = Map.groupBy(batch, ({ body }) => body);
    const shared = [...counts].filter(([, { length }]) => length > 1).map(([body]) => body);
    const refs = await store.insertBodies(shared, new Date(now));
    const byBody = new Map(shared.map((body, index) => [body, refs[index]]));
    const room = new Map<string, number>();
    return batch.map((one) => {
      const state = this.#endpoints.get(one.endpoint);
      const target = state?.target;
      const left = room.get(one.endpoint) ?? (state === undefined ? 0 : this.#roomOf(state));
      const taken = one.trigger === 'test' ? target?.enabled === true : left > 0;
      room.set(one.endpoint, taken ? left - 1 : left);
      const dueAt = new Date(taken ? now + limits.leaseMs : now);
      return toDeliveryRow(one, { now, dueAt, token: taken ? token : null, target, ref: byBody.get(one.body) });
    });
  }

  /**
   * Inserts rows, and makes existing ones due again for a replay.
   * @returns the indexes of those that existed already
   */
  async #insert(rows: readonly DeliveryRow[], now: number): Promise<ReadonlySet<number>> {
    const { store, limits } = this.#context;
    const known = await store.insert(rows).catch((error: unknown) => {
      // Some may be stored with a lease of this process.
      this.#worker.wakeAt(now + limits.leaseMs);
      throw error;
    });
    const replayed = rows.filter((row, index) => row.trigger === 'replay' && known.has(index));
    await store.replay(replayed.map((row) => ({ ...row, token: null, dueAt: new Date(now) })));
    return known;
  }

  /** How many new deliveries of an endpoint may be leased at once: none that would overtake earlier ones. */
  #roomOf({ target, breaker, heldUntil }: EndpointState): number {
    const { id, enabled, ratePerSecond, ordering } = target;
    const free = enabled && ratePerSecond === null && ordering === 'none' && breaker.open === null;
    const isOpen = free && heldUntil <= this.#context.clock.now() && !this.#worker.stopped;
    return isOpen && !this.#worker.isBehind(id) ? this.#context.slots.room(id) : 0;
  }
}

function healthOf(row: HealthRow | undefined, pending: number, now: number): Omit<EndpointHealth, 'error'> {
  const { openUntil, probing, lastSuccessAt = null, lastFailureAt = null, failingSince = null } = row ?? {};
  const open = openUntil !== undefined && openUntil.getTime() > now && probing !== true;
  const breaker = openUntil === undefined ? 'closed' : open ? 'open' : 'half-open';
  return { breaker, pending, lastSuccessAt, lastFailureAt, failingSince };
}
