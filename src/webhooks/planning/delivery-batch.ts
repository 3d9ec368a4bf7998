/**
 * Deliveries on their way to the sender: a bounded number at a time, in the order of their rows. Not here: making them
 * (row-deliveries.ts).
 */
import type { NewDelivery, Sender } from '../sending/sender.ts';

/** Deliveries, and bytes of their bodies, that are given to the sender at a time. */
const MOST_DELIVERIES = 1_000;
const MOST_BYTES = 8 * 1024 * 1024;

export class DeliveryBatch {
  readonly #sender: Pick<Sender, 'submit'>;
  readonly #allowed: () => boolean;
  #deliveries: NewDelivery[] = [];
  #bytes = 0;

  /** @param allowed whether this process may still do this work; asked right before each call */
  constructor(sender: Pick<Sender, 'submit'>, allowed: () => boolean) {
    this.#sender = sender;
    this.#allowed = allowed;
  }

  async add(deliveries: readonly NewDelivery[]): Promise<void> {
    this.#deliveries.push(...deliveries);
    for (const body of new Set(deliveries.map((one) => one.body))) this.#bytes += body.length;
    if (this.#deliveries.length >= MOST_DELIVERIES || this.#bytes >= MOST_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#deliveries.length === 0) return;
    if (!this.#allowed()) throw new Error('Another process does this work now');
    await this.#sender.submit(this.#deliveries);
    this.#deliveries = [];
    this.#bytes = 0;
  }
}
