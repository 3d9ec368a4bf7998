/** Passes deliveries to the sender in batches of bounded size, in the order of their rows. */
import type { NewDelivery, Sender } from '../sending/sender.ts';

/** Maximum deliveries, and bytes of their bodies, in one batch. */
const MOST_DELIVERIES = 1_000;
const MOST_BYTES = 8 * 1024 * 1024;

export class DeliveryBatch {
  readonly #sender: Pick<Sender, 'submit'>;
  readonly #allowed: () => boolean;
  #deliveries: NewDelivery[] = [];
  #bytes = 0;

  /** @param allowed whether this process still holds the lease for this work; called right before each batch */
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
    if (!this.#allowed()) throw new Error('Another process now holds the lease');
    await this.#sender.submit(this.#deliveries);
    this.#deliveries = [];
    this.#bytes = 0;
  }
}
