/**
 * Wakes the sender of a process that does not plan, a moment after a row that some endpoint subscribes to: the planner
 * may have created deliveries that this process can help to send.
 */
import type { Db } from 'mongodb';
import type { LogRow } from '../../events/log/log-row.ts';
import type { LogTail } from '../../events/log/log-tail.ts';
import type { Sender } from '../sending/sender.ts';
import { EndpointsByEventType } from './compiled-endpoint.ts';
import { applyEndpointRow, invalidatesEndpoints, isAboutEndpoint } from './endpoint-states.ts';
import { readEndpointsSnapshot, toEndpointStates } from './endpoints-at-position.ts';

/** Milliseconds from a row to the wake-up: by then the planner has usually submitted its deliveries. */
const WAKE_MS = 200;

export interface DeliveryNotifierDeps {
  readonly data: Db;
  readonly tail: Pick<LogTail, 'attach'>;
  readonly sender: Pick<Sender, 'wake'>;
  /** True if this process plans. */
  readonly plans: () => boolean;
  readonly onError: (error: unknown) => void;
}

export class DeliveryNotifier {
  readonly #deps: DeliveryNotifierDeps;
  #requested = new EndpointsByEventType(new Map());
  #timer: NodeJS.Timeout | null = null;
  #detach: () => void = () => {};

  constructor(deps: DeliveryNotifierDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    await this.#read();
    this.#detach = this.#deps.tail.attach({
      rows: (rows) => {
        for (const row of rows) this.#take(row);
      },
      lost: () => this.#readAgain(),
    });
  }

  stop(): void {
    this.#detach();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #take(row: LogRow): void {
    if (invalidatesEndpoints(row)) this.#readAgain();
    else if (isAboutEndpoint(row))
      this.#requested = new EndpointsByEventType(applyEndpointRow(this.#requested.states, row));
    if (this.#timer !== null || this.#deps.plans() || this.#requested.by(row).length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#deps.sender.wake();
    }, WAKE_MS).unref();
  }

  #readAgain(): void {
    this.#read().catch(this.#deps.onError);
  }

  async #read(): Promise<void> {
    const { documents } = await readEndpointsSnapshot(this.#deps.data);
    this.#requested = new EndpointsByEventType(toEndpointStates(documents));
  }
}
