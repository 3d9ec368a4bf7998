/** Notes what a sender is told of endpoints, for tests of the book of endpoints. It sends nothing. */
import type { EndpointTarget } from '../../../src/webhooks/endpoint/endpoint.ts';
import type { EndpointListener } from '../../../src/webhooks/endpoint/endpoints.ts';

export class ToldSender implements EndpointListener {
  /** By id, as the sender knows them. */
  readonly targets = new Map<string, EndpointTarget>();
  /** In the order of the calls: `ensure <id>`, `remove <id>`. */
  readonly calls: string[] = [];
  /** Thrown by the next call. */
  fault: Error | null = null;

  async ensureEndpoint(target: EndpointTarget): Promise<void> {
    this.#note(`ensure ${target.id}`);
    this.targets.set(target.id, target);
  }

  async removeEndpoint(id: string): Promise<void> {
    this.#note(`remove ${id}`);
    this.targets.delete(id);
  }

  #note(call: string): void {
    this.calls.push(call);
    const { fault } = this;
    this.fault = null;
    if (fault !== null) throw fault;
  }
}
