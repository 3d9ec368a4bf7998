/**
 * The base of all senders: stores deliveries in MongoDB, leases due ones, passes them to its transport, and records the
 * results. A new delivery with a free slot is sent at once, from memory; all others are leased from the database. A
 * delivery whose process died before recording the result is sent again, with the same id.
 */
import { randomUUID } from 'node:crypto';
import type { Mongo } from '../../../database/mongo.ts';
import type { LogCallback } from '../../../events/log/log-callback.ts';
import type { EndpointTarget } from '../../endpoint/endpoint.ts';
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
  SenderState,
} from '../sender.ts';
import { DeliveryListStore } from './delivery-list-store.ts';
import type { DeliveryRow } from './delivery-row.ts';
import { DeliveryStore } from './delivery-store.ts';
import { DeliveryDispatcher } from './dispatcher.ts';
import { type HealthRow, HealthStore } from './health-store.ts';
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
  readonly onLog?: LogCallback;
  /** Milliseconds by which the sender's clock is ahead of the server's; for tests. */
  readonly clockOffsetMs?: () => number;
  readonly limits?: Partial<SenderLimits>;
}

const MAX_REMOVED = 1_000;

export class QueueSender implements Sender {
  readonly #transport: Transport;
  readonly #shared: QueueContext;
  readonly #lists: DeliveryListStore;
  readonly #endpoints = new Map<string, EndpointState>();
  readonly #dispatcher: DeliveryDispatcher;
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
    this.#shared = { store, health, clock, endpoints: this.#endpoints, slots, limits };
    this.#dispatcher = new DeliveryDispatcher({ ...this.#shared, transport, events, onLog });
  }

  async start(): Promise<void> {
    const { store, clock, health } = this.#shared;
    await store.start();
    await clock.refresh();
    this.#restored = new Map((await health.all()).map((row) => [row._id, row]));
    for (const [id, state] of this.#endpoints) this.#restore(id, state);
    await this.#transport.start();
    this.#dispatcher.leaser.start();
  }

  async stop(): Promise<void> {
    await this.#dispatcher.stop();
    await this.#transport.stop();
  }

  state(): SenderState {
    return this.#transport.state();
  }

  async ensureEndpoint(target: EndpointTarget): Promise<void> {
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
      await this.#shared.health.reset(id);
    }
    if (enabled) this.#dispatcher.leaser.wake();
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
    await this.#shared.health.remove(id);
    this.#shared.slots.forget(id);
  }

  async submit(deliveries: readonly NewDelivery[]): Promise<void> {
    await this.#shared.clock.refresh();
    for (const batch of splitIntoBatches(deliveries)) await this.#submit(batch);
  }

  wake(): void {
    this.#dispatcher.leaser.wake();
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
    await this.#shared.clock.refresh();
    if (!(await this.#shared.store.resend(id, new Date(this.#shared.clock.now())))) return null;
    this.wake();
    return (await this.#lists.one(id))?.delivery ?? null;
  }

  async recover(endpoint: string, since: Date, but: readonly string[] = []): Promise<number> {
    await this.#shared.clock.refresh();
    const count = await this.#shared.store.recover(endpoint, since, but, new Date(this.#shared.clock.now()));
    if (count > 0) this.wake();
    return count;
  }

  async health(endpoints: readonly string[]): Promise<ReadonlyMap<string, EndpointHealth>> {
    const [rows, pending] = await Promise.all([
      this.#shared.health.of(endpoints),
      this.#shared.store.pending(endpoints),
    ]);
    const byId = new Map(rows.map((row) => [row._id, row]));
    const now = this.#shared.clock.now();
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
    this.#dispatcher.leaser.forget(id);
    this.#shared.slots.withdraw(({ endpoint }) => endpoint === id);
    await this.#shared.store.discard(id, new Date(this.#shared.clock.now()));
  }

  /** Stores deliveries. The insert also leases those with a free slot, which need not be read again. */
  async #submit(batch: readonly NewDelivery[]): Promise<void> {
    const { clock, limits } = this.#shared;
    const { leaser: taking } = this.#dispatcher;
    const [now, take, until] = [clock.now(), randomUUID(), sendDeadline(limits)];
    const rows = await this.#toRows(batch, take, now);
    const known = await this.#insert(rows, now);
    for (const [index, row] of rows.entries()) {
      const body = batch[index]?.body ?? null;
      if (row.state !== 'pending') continue;
      if (known.has(index)) taking.dueAt(row.trigger === 'replay' ? now : now + limits.leaseMs);
      else if (row.take === null) taking.due(row.endpoint);
      else taking.push({ row, body, take, notBefore: 0, sendBefore: until, probe: false });
    }
    this.#dispatcher.send();
    for (const id of new Set(rows.map(({ endpoint }) => endpoint))) {
      // It was disabled or removed meanwhile, after its pending deliveries had been canceled.
      if (this.#removed.has(id) || this.#endpoints.get(id)?.target.enabled === false) await this.#discard(id);
    }
  }

  /**
   * The rows of deliveries, of which as many are leased as this process has slots for. A shared body is stored once.
   */
  async #toRows(batch: readonly NewDelivery[], take: string, now: number): Promise<readonly DeliveryRow[]> {
    const { store, limits } = this.#shared;
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
      const due = new Date(taken ? now + limits.leaseMs : now);
      return toDeliveryRow(one, { now, due, take: taken ? take : null, target, ref: byBody.get(one.body) });
    });
  }

  /**
   * Inserts rows, and makes existing ones due again for a replay.
   * @returns the indexes of those that existed already
   */
  async #insert(rows: readonly DeliveryRow[], now: number): Promise<ReadonlySet<number>> {
    const { store, limits } = this.#shared;
    const known = await store.insert(rows).catch((error: unknown) => {
      // Some may be stored with a lease of this process.
      this.#dispatcher.leaser.dueAt(now + limits.leaseMs);
      throw error;
    });
    const replayed = rows.filter((row, index) => row.trigger === 'replay' && known.has(index));
    await store.replay(replayed.map((row) => ({ ...row, take: null, due: new Date(now) })));
    return known;
  }

  /** How many new deliveries of an endpoint may be leased at once: none that would overtake earlier ones. */
  #roomOf({ target, breaker, heldUntil }: EndpointState): number {
    const { id, enabled, ratePerSecond, ordering } = target;
    const { ended, leaser: taking } = this.#dispatcher;
    const free = enabled && ratePerSecond === null && ordering === 'none' && breaker.open === null && !ended;
    return free && heldUntil <= this.#shared.clock.now() && !taking.isBehind(id) ? this.#shared.slots.room(id) : 0;
  }
}

function healthOf(row: HealthRow | undefined, pending: number, now: number): Omit<EndpointHealth, 'error'> {
  const { openUntil, probing, lastSuccessAt = null, lastFailureAt = null, failingSince = null } = row ?? {};
  const open = openUntil !== undefined && openUntil.getTime() > now && probing !== true;
  const breaker = openUntil === undefined ? 'closed' : open ? 'open' : 'half-open';
  return { breaker, pending, lastSuccessAt, lastFailureAt, failingSince };
}
