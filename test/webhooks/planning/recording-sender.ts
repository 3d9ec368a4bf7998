/** A sender that records its input and sends nothing. It can be made to fail, as a database does, at chosen calls. */
import type { NewDelivery, Sender } from '../../../src/webhooks/sending/sender.ts';

export class RecordingSender implements Pick<Sender, 'submit' | 'wake' | 'removeEndpoint'> {
  /** The first submission of each delivery by `<endpoint>:<event>`. */
  readonly deliveries = new Map<string, NewDelivery>();
  readonly issues: string[] = [];
  /** The endpoints that were removed. */
  readonly removed = new Set<string>();
  submits = 0;
  repeats = 0;
  wakes = 0;
  /** Called before each call: it decides where to fail. */
  fate: () => 'fine' | 'before' | 'after' = () => 'fine';

  async submit(deliveries: readonly NewDelivery[]): Promise<void> {
    this.submits += 1;
    const fate = this.fate();
    if (fate === 'before') throw new Error('Not submitted');
    for (const delivery of deliveries) {
      const id = `${delivery.endpoint}:${delivery.event}`;
      const known = this.deliveries.get(id);
      this.repeats += Number(known !== undefined);
      if (known === undefined || delivery.trigger === 'replay') this.deliveries.set(id, delivery);
    }
    if (fate === 'after') throw new Error('Submitted, but reported as failed');
  }

  wake(): void {
    this.wakes += 1;
  }

  async removeEndpoint(id: string): Promise<void> {
    this.removed.add(id);
  }

  /** The deliveries of an endpoint in the order of their first submission. */
  of(endpoint: string): readonly NewDelivery[] {
    return [...this.deliveries.values()].filter((one) => one.endpoint === endpoint);
  }
}
