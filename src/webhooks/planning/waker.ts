/**
 * Wakes the sender of a process that does not plan, when deliveries may have been made that it could help to send: a moment
 * after a row passes that some endpoint wants. Without such rows it does nothing. Not here: the planner's own process, where
 * deliveries are submitted to the sender itself.
 */
import type { Db } from 'mongodb';
import type { LogRow } from '../../events/log/row.ts';
import type { Tail } from '../../events/log/tail.ts';
import type { Sender } from '../sending/sender.ts';
import { isAboutEndpoint, losesEndpoints, withRow } from './endpoint-states.ts';
import { readEndpoints, statesOf } from './endpoints-at.ts';
import { WantedRows } from './planned-endpoint.ts';

/** Milliseconds from a row to the wake: until then the planner has usually submitted its deliveries. */
const WAKE_MS = 200;

export interface WakerParts {
  readonly data: Db;
  readonly tail: Pick<Tail, 'attach'>;
  readonly sender: Pick<Sender, 'wake'>;
  /** True if this process plans. */
  readonly plans: () => boolean;
  readonly onError: (error: unknown) => void;
}

export class Waker {
  readonly #parts: WakerParts;
  #wanted = new WantedRows(new Map());
  #timer: NodeJS.Timeout | null = null;
  #detach: () => void = () => {};

  constructor(parts: WakerParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    await this.#read();
    this.#detach = this.#parts.tail.attach({
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
    if (losesEndpoints(row)) this.#readAgain();
    else if (isAboutEndpoint(row)) this.#wanted = new WantedRows(withRow(this.#wanted.states, row));
    if (this.#timer !== null || this.#parts.plans() || this.#wanted.by(row).length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#parts.sender.wake();
    }, WAKE_MS).unref();
  }

  #readAgain(): void {
    this.#read().catch(this.#parts.onError);
  }

  async #read(): Promise<void> {
    const { documents } = await readEndpoints(this.#parts.data);
    this.#wanted = new WantedRows(statesOf(documents));
  }
}
