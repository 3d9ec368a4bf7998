/**
 * The planner: a consumer of the event log, in one process at a time. For each row it makes the deliveries of the endpoints
 * that count at that place of the log, and gives them to the sender before its cursor moves. A delivery has the same id on
 * every try, so nothing is lost and nothing is made twice, whatever ends in between. It also disables the endpoints whose
 * principal is gone. Not here: what an endpoint may see (row-deliveries.ts), and sending (sending/).
 */
import { systemType } from '../../events/log/event.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { LogRow } from '../../events/log/row.ts';
import type { EventParts } from '../../events/open-events.ts';
import type { Consumer } from '../../events/read/consumer.ts';
import { type Lane, Turnstile } from '../../query/evaluate/turnstile.ts';
import type { DisabledReason, EndpointInterest } from '../endpoint/endpoint.ts';
import type { Sender } from '../sending/sender.ts';
import { DeliveryBatch } from './delivery-batch.ts';
import { documentIdOf, type EndpointStates, isAboutEndpoint, losesEndpoints, withRow } from './endpoint-states.ts';
import type { Makers } from './makers.ts';
import { type PlannedEndpoint, toPlanned, WantedRows } from './planned-endpoint.ts';
import type { RowDeliveries } from './row-deliveries.ts';

export interface PlannerParts {
  readonly consumer: EventParts['consumer'];
  /** True if this process records events: only that one plans. */
  readonly records: () => boolean;
  /** The endpoints after the row at a place of the log (endpoints-at.ts). */
  readonly endpointsAt: (place: LogPosition) => Promise<EndpointStates>;
  readonly makers: Pick<Makers, 'find'>;
  readonly rows: RowDeliveries;
  readonly sender: Pick<Sender, 'submit' | 'wake' | 'removeEndpoint'>;
  /** Disables an endpoint, if it is enabled. */
  readonly disable: (endpoint: string, reason: DisabledReason) => Promise<void>;
  /** Called when replays may have to be made here: when this process begins to plan, and when one was asked for. */
  readonly onReplays: () => void;
  /** Called with errors of what nothing waits for. */
  readonly onError: (error: unknown) => void;
}

export class Planner {
  readonly #parts: PlannerParts;
  readonly #consumer: Consumer;
  readonly #turnstile = new Turnstile();
  #wanted = new WantedRows(new Map());
  /** True while a row that changes endpoints waits to be handled: then it is not known which rows are wanted. */
  #isUnsettled = false;
  #hasBegun = false;
  readonly #disabled = new WeakSet<EndpointInterest>();
  #looking: Promise<void> = Promise.resolve();
  #handling: Promise<void> = Promise.resolve();

  constructor(parts: PlannerParts) {
    this.#parts = parts;
    this.#consumer = parts.consumer({
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

  /** How far the log is planned, wherever that is done; null before the first start. */
  cursor(): Promise<LogPosition | null> {
    return this.#consumer.cursor();
  }

  /** True while this process plans, as far as it knows: it may not have heard yet that another one does now. */
  get plans(): boolean {
    return this.#hasBegun && this.#parts.records();
  }

  /** An endpoint as it counts now, in the process that plans. */
  endpoint(id: string): PlannedEndpoint | null {
    const interest = this.#wanted.states.get(id);
    return interest === undefined ? null : toPlanned(interest);
  }

  /** Resolves when no rows are being planned: work that can wait goes on then. */
  quiet(): Promise<void> {
    return this.#handling;
  }

  /** Looks for endpoints whose principal is gone, and disables them. */
  lookForGone(): void {
    if (!this.plans) return;
    this.#looking = this.#looking
      .then(() => this.#disableGone([...this.#wanted.states.values()]))
      .catch(this.#parts.onError);
  }

  async #begin(cursor: LogPosition): Promise<void> {
    const states = await this.#parts.endpointsAt(cursor);
    this.#wanted = new WantedRows(states);
    this.#isUnsettled = false;
    this.#hasBegun = true;
    await this.#disableGone([...states.values()]);
    // The process that planned before may have ended, and left deliveries that it was making.
    this.#parts.sender.wake();
    this.#parts.onReplays();
  }

  #concerns(row: LogRow): boolean {
    this.#isUnsettled ||= isAboutEndpoint(row) || losesEndpoints(row);
    return this.#isUnsettled || isReplay(row) || this.#wanted.by(row).length > 0;
  }

  async #handle(rows: readonly LogRow[], allowed: () => boolean): Promise<void> {
    const batch = new DeliveryBatch(this.#parts.sender, allowed);
    const lane = this.#turnstile.lane(this);
    const gone = new Set<EndpointInterest>();
    let wanted = this.#wanted;
    for (const row of rows) {
      if (lane.isOver) await lane.pass();
      for (const endpoint of await this.#planRow(row, wanted, batch, lane)) gone.add(endpoint.interest);
      wanted = await this.#after(row, wanted);
    }
    await batch.flush();
    await this.#removeDeleted(rows, wanted.states);
    await this.#disableGone(wanted === this.#wanted ? [...gone] : [...wanted.states.values()]);
    // Only now: when something fails, the rows are handled again from the same endpoints on.
    this.#wanted = wanted;
    this.#isUnsettled = false;
    if (rows.some(isReplay)) this.#parts.onReplays();
  }

  /** Plans one row. @returns the endpoints whose principal is gone */
  async #planRow(
    row: LogRow,
    wanted: WantedRows,
    batch: DeliveryBatch,
    lane: Lane,
  ): Promise<readonly PlannedEndpoint[]> {
    const endpoints = wanted.by(row);
    if (endpoints.length === 0) return [];
    const { deliveries, gone } = await this.#parts.rows.of(row, endpoints, 'schedule', lane);
    await batch.add(deliveries);
    return gone;
  }

  /** The endpoints after a row. */
  async #after(row: LogRow, wanted: WantedRows): Promise<WantedRows> {
    if (losesEndpoints(row)) return new WantedRows(await this.#parts.endpointsAt(row));
    return isAboutEndpoint(row) ? new WantedRows(withRow(wanted.states, row)) : wanted;
  }

  /** The process that deleted an endpoint may have ended before it told its sender. */
  async #removeDeleted(rows: readonly LogRow[], states: EndpointStates): Promise<void> {
    for (const row of rows) {
      const isDeleted = isAboutEndpoint(row) && row.operation === 'delete' && !states.has(documentIdOf(row));
      if (isDeleted) await this.#parts.sender.removeEndpoint(documentIdOf(row));
    }
  }

  async #disableGone(endpoints: readonly EndpointInterest[]): Promise<void> {
    for (const interest of endpoints) {
      if (!interest.enabled || this.#disabled.has(interest)) continue;
      if ((await this.#parts.makers.find(interest.principal)) !== null) continue;
      await this.#parts.disable(interest.id, 'principal');
      this.#disabled.add(interest);
    }
  }
}

function isReplay(row: LogRow): boolean {
  return systemType(row) === 'system.endpoint.replayed';
}
