/**
 * The planner: a consumer of the event log that runs in one process at a time. For each row it creates the deliveries
 * of the endpoints active at that position, and submits them before its cursor moves. A delivery keeps its id on every
 * attempt, so a crash neither loses nor duplicates deliveries. It also disables endpoints whose principal no longer
 * exists.
 */
import { systemEventType } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { Consumer } from '../../events/read/consumer.ts';
import type { EventServices } from '../../events/services.ts';
import { FairScheduler, type ScheduledTask } from '../../query/evaluate/fair-scheduler.ts';
import type { DisabledReason, EndpointSubscription } from '../endpoint/endpoint.ts';
import type { Sender } from '../sending/sender.ts';
import { type CompiledEndpoint, compileEndpoint, EndpointsByEventType } from './compiled-endpoint.ts';
import { DeliveryBatcher, type EventDeliveryBuilder } from './deliveries-for-event.ts';
import type { EndpointPrincipals } from './endpoint-principals.ts';
import {
  applyEndpointRow,
  documentIdOf,
  type EndpointStates,
  invalidatesEndpoints,
  isAboutEndpoint,
} from './endpoint-states.ts';

export interface DeliveryPlannerDeps {
  readonly consumer: EventServices['consumer'];
  /** True if this process records events: only that one plans. */
  readonly records: () => boolean;
  /** The endpoints after the row at a log position (endpoints-at-position.ts). */
  readonly endpointsAt: (position: LogPosition) => Promise<EndpointStates>;
  readonly creators: Pick<EndpointPrincipals, 'find'>;
  readonly rows: EventDeliveryBuilder;
  readonly sender: Pick<Sender, 'submit' | 'wake' | 'removeEndpoint'>;
  /** Disables an endpoint, if enabled. */
  readonly disable: (endpoint: string, reason: DisabledReason) => Promise<void>;
  /** Called when replays may be due here: when this process starts to plan, and when a replay was requested. */
  readonly onReplays: () => void;
  /** Called with errors of background work. */
  readonly onError: (error: unknown) => void;
}

export class DeliveryPlanner {
  readonly #deps: DeliveryPlannerDeps;
  readonly #consumer: Consumer;
  readonly #fairYield = new FairScheduler();
  #requested = new EndpointsByEventType(new Map());
  /** True while a row that changes endpoints waits to be handled: until then the subscribed types are unknown. */
  #isUnsettled = false;
  #hasBegun = false;
  readonly #disabled = new WeakSet<EndpointSubscription>();
  #looking: Promise<void> = Promise.resolve();
  #handling: Promise<void> = Promise.resolve();

  constructor(deps: DeliveryPlannerDeps) {
    this.#deps = deps;
    this.#consumer = deps.consumer({
      name: 'webhooks',
      begin: (cursor) => this.#begin(cursor),
      concerns: (row) => this.#concerns(row),
      handle: (rows, allowed) => {
        const handling = this.#handle(rows, allowed);
        this.#handling = handling.catch(() => {});
        return handling;
      },
    });
  }

  start(): void {
    this.#consumer.start();
  }

  async stop(): Promise<void> {
    await this.#consumer.stop();
    await this.#looking;
  }

  /** The last planned log position, in any process; null before the first start. */
  cursor(): Promise<LogPosition | null> {
    return this.#consumer.cursor();
  }

  /** True while this process plans, as far as it knows: another one may have taken over. */
  get plans(): boolean {
    return this.#hasBegun && this.#deps.records();
  }

  /** The current version of an endpoint, in the process that plans. */
  endpoint(id: string): CompiledEndpoint | null {
    const interest = this.#requested.states.get(id);
    return interest === undefined ? null : compileEndpoint(interest);
  }

  /** Resolves when no rows are being planned, so that background work continues then. */
  waitUntilIdle(): Promise<void> {
    return this.#handling;
  }

  /** Finds endpoints whose principal no longer exists, and disables them. */
  disableOrphanedEndpoints(): void {
    if (!this.plans) return;
    this.#looking = this.#looking
      .then(() => this.#disableGone([...this.#requested.states.values()]))
      .catch(this.#deps.onError);
  }

  async #begin(cursor: LogPosition): Promise<void> {
    const states = await this.#deps.endpointsAt(cursor);
    this.#requested = new EndpointsByEventType(states);
    this.#isUnsettled = false;
    this.#hasBegun = true;
    await this.#disableGone([...states.values()]);
    // The previous planning process may have ended while creating deliveries.
    this.#deps.sender.wake();
    this.#deps.onReplays();
  }

  #concerns(row: LogRow): boolean {
    this.#isUnsettled ||= isAboutEndpoint(row) || invalidatesEndpoints(row);
    return this.#isUnsettled || isReplay(row) || this.#requested.by(row).length > 0;
  }

  async #handle(rows: readonly LogRow[], allowed: () => boolean): Promise<void> {
    const batch = new DeliveryBatcher(this.#deps.sender, allowed);
    const lane = this.#fairYield.createTask(this);
    const gone = new Set<EndpointSubscription>();
    let requested = this.#requested;
    for (const row of rows) {
      if (lane.shouldYield) await lane.waitTurn();
      for (const endpoint of await this.#planRow(row, requested, batch, lane)) gone.add(endpoint.subscription);
      requested = await this.#after(row, requested);
    }
    await batch.flush();
    await this.#removeDeleted(rows, requested.states);
    await this.#disableGone(requested === this.#requested ? [...gone] : [...requested.states.values()]);
    // Last: if something fails, the rows are handled again with the same endpoints.
    this.#requested = requested;
    this.#isUnsettled = false;
    if (rows.some(isReplay)) this.#deps.onReplays();
  }

  /** Plans one row. @returns the endpoints whose principal no longer exists */
  async #planRow(
    row: LogRow,
    requested: EndpointsByEventType,
    batch: DeliveryBatcher,
    lane: ScheduledTask,
  ): Promise<readonly CompiledEndpoint[]> {
    const endpoints = requested.by(row);
    if (endpoints.length === 0) return [];
    const { deliveries, gone } = await this.#deps.rows.of(row, endpoints, 'schedule', lane);
    await batch.add(deliveries);
    return gone;
  }

  /** The endpoints after a row. */
  async #after(row: LogRow, requested: EndpointsByEventType): Promise<EndpointsByEventType> {
    if (invalidatesEndpoints(row)) return new EndpointsByEventType(await this.#deps.endpointsAt(row));
    return isAboutEndpoint(row) ? new EndpointsByEventType(applyEndpointRow(requested.states, row)) : requested;
  }

  /** The process that deleted an endpoint may have ended before it notified its sender. */
  async #removeDeleted(rows: readonly LogRow[], states: EndpointStates): Promise<void> {
    for (const row of rows) {
      const isDeleted = isAboutEndpoint(row) && row.operation === 'delete' && !states.has(documentIdOf(row));
      if (isDeleted) await this.#deps.sender.removeEndpoint(documentIdOf(row));
    }
  }

  async #disableGone(endpoints: readonly EndpointSubscription[]): Promise<void> {
    for (const interest of endpoints) {
      if (!interest.enabled || this.#disabled.has(interest)) continue;
      if ((await this.#deps.creators.find(interest.principal)) !== null) continue;
      await this.#deps.disable(interest.id, 'principal');
      this.#disabled.add(interest);
    }
  }
}

function isReplay(row: LogRow): boolean {
  return systemEventType(row) === 'system.endpoint.events-replayed';
}
