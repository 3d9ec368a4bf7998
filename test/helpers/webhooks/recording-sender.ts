/**
 * A sender that records its calls and sends nothing, for tests of the layers before it: the registry of endpoints and
 * the routes. Deliveries are tested with real senders.
 */
import type { EndpointDeliverySettings } from '../../../src/webhooks/endpoint/endpoint.ts';
import type {
  Attempt,
  Delivery,
  DeliveryPage,
  DeliveryQuery,
  EndpointHealth,
  NewDelivery,
  Sender,
  SenderHealth,
} from '../../../src/webhooks/sending/sender.ts';

export class RecordingSender implements Sender {
  /** By id, as the sender knows them. */
  readonly targets = new Map<string, EndpointDeliverySettings>();
  /** In the order of the calls: `ensure <id>`, `remove <id>`, `recover <id> <moment> but <types>`. */
  readonly calls: string[] = [];
  /** Thrown by the next call about an endpoint. */
  issue: Error | null = null;
  /** The requested lists of deliveries. */
  readonly queries: DeliveryQuery[] = [];
  readonly submitted: NewDelivery[] = [];
  readonly #rows: { readonly delivery: Delivery; readonly body: string }[] = [];

  async start(): Promise<void> {}
  async stop(): Promise<void> {}
  wake(): void {}

  headerIssue(): null {
    return null;
  }

  state(): SenderHealth {
    return { kind: 'direct' };
  }

  async ensureEndpoint(target: EndpointDeliverySettings): Promise<void> {
    this.#note(`ensure ${target.id}`);
    this.targets.set(target.id, target);
  }

  async removeEndpoint(id: string): Promise<void> {
    this.#note(`remove ${id}`);
    this.targets.delete(id);
  }

  async submit(deliveries: readonly NewDelivery[]): Promise<void> {
    for (const one of deliveries) {
      this.submitted.push(one);
      const { endpoint, event, type, body } = one;
      const id = `${endpoint}:${event}`;
      const times = { nextAttemptAt: null, createdAt: new Date(), finishedAt: null };
      this.#rows.unshift({
        delivery: { id, endpoint, event, type, state: 'failed', attempts: 1, last: null, ...times },
        body,
      });
    }
  }

  async deliveries(query: DeliveryQuery): Promise<DeliveryPage> {
    this.queries.push(query);
    const { endpoint, event, type, state, endpoints, limit, after = '0' } = query;
    const found = this.#rows
      .map(({ delivery }) => delivery)
      .filter((one) => endpoints?.includes(one.endpoint) !== false && (endpoint ?? one.endpoint) === one.endpoint)
      .filter((one) => (event ?? one.event) === one.event && (type ?? one.type) === one.type)
      .filter((one) => (state ?? one.state) === one.state);
    const end = Number(after) + limit;
    return { deliveries: found.slice(Number(after), end), next: end < found.length ? String(end) : null };
  }

  async delivery(id: string): Promise<{ readonly delivery: Delivery; readonly body: string | null } | null> {
    return this.#rows.find(({ delivery }) => delivery.id === id) ?? null;
  }

  async attempts(id: string): Promise<readonly Attempt[]> {
    const request = { headers: { 'webhook-id': id } };
    const response = { headers: { 'x-receiver': 'r' }, body: 'no' };
    return [{ at: new Date(), durationMs: 1, status: 500, error: 'status', trigger: 'schedule', request, response }];
  }

  async resend(id: string): Promise<Delivery | null> {
    const found = await this.delivery(id);
    return found && { ...found.delivery, state: 'pending' };
  }

  async recover(endpoint: string, since: Date, but: readonly string[] = []): Promise<number> {
    this.#note(`recover ${endpoint} ${since.toISOString()}${but.length === 0 ? '' : ` but ${but.join()}`}`);
    return this.#rows.filter(({ delivery }) => delivery.endpoint === endpoint).length;
  }

  async health(endpoints: readonly string[]): Promise<ReadonlyMap<string, EndpointHealth>> {
    const times = { lastSuccessAt: null, lastFailureAt: null, failingSince: null, error: null };
    return new Map(endpoints.map((id) => [id, { breaker: 'open', pending: 7, ...times }]));
  }

  #note(call: string): void {
    this.calls.push(call);
    const { issue } = this;
    this.issue = null;
    if (issue !== null) throw issue;
  }
}
