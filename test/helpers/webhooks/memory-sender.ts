/** A sender that keeps everything in memory: the smallest implementation of the sender interface. */
import { MillraceError } from '../../../src/lib/errors.ts';
import type { EndpointDeliverySettings } from '../../../src/webhooks/endpoint/endpoint.ts';
import { decideAttemptOutcome, GONE_STATUS, statusError } from '../../../src/webhooks/sending/attempt-outcome.ts';
import { CircuitBreaker } from '../../../src/webhooks/sending/breaker.ts';
import type {
  Attempt,
  AttemptTrigger,
  Delivery,
  DeliveryPage,
  DeliveryQuery,
  EndpointHealth,
  NewDelivery,
  Sender,
  SenderEvents,
  SenderHealth,
} from '../../../src/webhooks/sending/sender.ts';
import { Signer } from '../../../src/webhooks/sending/signature.ts';
import { fits, idOf, type Row, shown } from './memory-rows.ts';

const AT_ONCE = 10;
const KEPT_BYTES = 16_384;
const FAILING_MS = 120 * 3_600_000;
const UNTRIED = { underWay: 0, nextPlace: 0, success: null, failure: null, since: null } as const;

interface Endpoint {
  target: EndpointDeliverySettings;
  readonly breaker: CircuitBreaker;
  underWay: number;
  nextPlace: number;
  success: Date | null;
  failure: Date | null;
  since: Date | null;
}

export interface MemorySenderOptions {
  readonly events: SenderEvents;
  readonly version: string;
  readonly clockOffsetMs: () => number;
  readonly timeoutMs: number;
}

export class MemorySender implements Sender {
  readonly #options: MemorySenderOptions;
  readonly #rows = new Map<string, Row>();
  readonly #endpoints = new Map<string, Endpoint>();
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(options: MemorySenderOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  headerIssue = () => null;

  state(): SenderHealth {
    return { kind: 'direct' };
  }

  async stop(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  async ensureEndpoint(target: EndpointDeliverySettings): Promise<void> {
    const known = this.#endpoints.get(target.id);
    const endpoint = known ?? { target, breaker: new CircuitBreaker(), ...UNTRIED };
    if (known !== undefined && known.target.url !== target.url) known.breaker.close();
    endpoint.target = target;
    this.#endpoints.set(target.id, endpoint);
    if (!target.enabled) this.#discard(target.id);
    this.#turn();
  }

  async removeEndpoint(id: string): Promise<void> {
    this.#endpoints.delete(id);
    this.#discard(id);
  }

  async submit(deliveries: readonly NewDelivery[]): Promise<void> {
    for (const one of deliveries) {
      const id = idOf(one);
      const known = this.#rows.get(id);
      if (known !== undefined && one.trigger === 'replay' && known.state !== 'pending') {
        known.body = one.body;
        this.#again(known, 'replay');
      }
      if (known !== undefined) continue;
      const off = this.#endpoints.get(one.endpoint)?.target.enabled === false;
      const now = this.#now();
      this.#rows.set(id, {
        one,
        body: one.body,
        trigger: one.trigger,
        state: off ? 'canceled' : 'pending',
        due: now,
        attempt: 0,
        count: 0,
        createdAt: new Date(now),
        finishedAt: off ? new Date(now) : null,
        attempts: [],
        busy: false,
      });
    }
    this.#turn();
  }

  wake(): void {
    this.#turn();
  }

  async deliveries({ limit, after, ...query }: DeliveryQuery): Promise<DeliveryPage> {
    const all = [...this.#rows.values()].map(shown).filter((one) => fits(one, query));
    all.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1));
    const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    if (after !== undefined && from === 0) throw new MillraceError('cursor-mismatch', 'No such cursor');
    const deliveries = all.slice(from, from + limit);
    return { deliveries, next: from + limit < all.length ? (deliveries.at(-1)?.id ?? null) : null };
  }

  async delivery(id: string): Promise<{ delivery: Delivery; body: string | null } | null> {
    const row = this.#rows.get(id);
    return row === undefined ? null : { delivery: shown(row), body: row.body };
  }

  async attempts(id: string): Promise<readonly Attempt[]> {
    return this.#rows.get(id)?.attempts ?? [];
  }

  async resend(id: string): Promise<Delivery | null> {
    const row = this.#rows.get(id);
    if (row === undefined) return null;
    if (!row.busy) this.#again(row, 'resend');
    this.#turn();
    return shown(row);
  }

  async recover(endpoint: string, since: Date, but: readonly string[] = []): Promise<number> {
    const requested = [...this.#rows.values()].filter(
      ({ one }) => one.endpoint === endpoint && !but.includes(one.type),
    );
    const ended = requested.filter(({ state }) => state === 'failed' || state === 'canceled');
    const lost = ended.filter(({ createdAt }) => createdAt >= since);
    for (const row of lost) this.#again(row, 'recover');
    this.#turn();
    return lost.length;
  }

  async health(endpoints: readonly string[]): Promise<ReadonlyMap<string, EndpointHealth>> {
    return new Map(
      endpoints.map((id) => {
        const { breaker, success = null, failure = null, since = null } = this.#endpoints.get(id) ?? {};
        const pending = [...this.#rows.values()].filter(
          (row) => row.one.endpoint === id && row.state === 'pending',
        ).length;
        const state = breaker?.state(this.#now()) ?? 'closed';
        const times = { lastSuccessAt: success, lastFailureAt: failure, failingSince: since };
        return [id, { breaker: state, pending, ...times, error: null }];
      }),
    );
  }

  #now(): number {
    return Date.now() + this.#options.clockOffsetMs();
  }

  #again(row: Row, trigger: AttemptTrigger): void {
    Object.assign(row, { state: 'pending', due: this.#now(), attempt: 0, trigger, finishedAt: null });
  }

  #discard(endpoint: string): void {
    const lost = [...this.#rows.values()].filter((row) => row.one.endpoint === endpoint && row.state === 'pending');
    for (const row of lost) Object.assign(row, { state: 'canceled', finishedAt: new Date(this.#now()) });
  }

  /** Sends what is due, and sets the timer for the rest. */
  #turn(): void {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    let next = Number.POSITIVE_INFINITY;
    for (const row of this.#rows.values()) {
      const at = this.#mayGoAt(row);
      if (at <= this.#now()) void this.#send(row);
      else next = Math.min(next, at);
    }
    if (next < Number.POSITIVE_INFINITY)
      this.#timer = setTimeout(() => this.#turn(), Math.min(next - this.#now(), 60_000));
  }

  #mayGoAt(row: Row): number {
    const endpoint = this.#endpoints.get(row.one.endpoint);
    if (row.state !== 'pending' || row.busy || endpoint?.target.enabled !== true) return Number.POSITIVE_INFINITY;
    if (row.trigger === 'test') return row.due;
    const { breaker, target } = endpoint;
    const most = breaker.open === null ? AT_ONCE : 1;
    if (endpoint.underWay >= most || (target.ordering === 'document' && !this.#isFirst(row)))
      return Number.POSITIVE_INFINITY;
    return Math.max(row.due, breaker.open?.openUntil ?? 0, target.ratePerSecond === null ? 0 : endpoint.nextPlace);
  }

  #isFirst({ one }: Row): boolean {
    return ![...this.#rows.values()].some(
      (other) =>
        other.state === 'pending' &&
        other.one.endpoint === one.endpoint &&
        other.one.document === one.document &&
        other.one.position.number < one.position.number,
    );
  }

  async #send(row: Row): Promise<void> {
    const { endpoint: id } = row.one;
    const endpoint = this.#endpoints.get(id);
    if (endpoint === undefined) return;
    const { target, breaker } = endpoint;
    const probe = breaker.open !== null && row.trigger !== 'test';
    row.busy = true;
    endpoint.underWay += 1;
    if (target.ratePerSecond !== null)
      endpoint.nextPlace = Math.max(this.#now(), endpoint.nextPlace) + 1_000 / target.ratePerSecond;
    const { attempt, retryAfter } = await this.#call(target, row);
    endpoint.underWay -= 1;
    row.busy = false;
    row.attempts = [...row.attempts, attempt].slice(-20);
    row.count += 1;
    row.attempt += 1;
    const now = this.#now();
    const { status, error } = attempt;
    const delivery = { trigger: row.trigger, schedule: target.retrySchedule, attempts: row.attempt };
    const outcome = decideAttemptOutcome({ status, error, retryAfter }, delivery, 0.5, now);
    if (row.trigger !== 'test') {
      if (probe) breaker.recordProbe(error === null, now);
      else breaker.count(error === null, now);
      this.#countHealth(endpoint, attempt);
      if (status === GONE_STATUS) await this.#options.events.onDisable(id, 'gone');
      if (endpoint.since !== null && now - endpoint.since.getTime() >= FAILING_MS) {
        await this.#options.events.onDisable(id, 'failing');
      }
    }
    if (row.state === 'pending' || outcome.state === 'succeeded') {
      row.state = outcome.state;
      if (outcome.state === 'pending') row.due = now + outcome.pauseMs;
      else row.finishedAt = new Date(now);
      if (outcome.state === 'failed') await this.#options.events.onFailed([shown(row)]);
    }
    this.#turn();
  }

  #countHealth(endpoint: Endpoint, { at, error }: Attempt): void {
    if (error === null) endpoint.success = at;
    else endpoint.failure = at;
    endpoint.since = error === null ? null : (endpoint.since ?? at);
  }

  async #call(target: EndpointDeliverySettings, row: Row) {
    const now = this.#now();
    const begun = performance.now();
    const ours = {
      'content-type': 'application/json',
      'user-agent': `Millrace/${this.#options.version}`,
      ...new Signer(target.secrets).headers(row.one.event, row.body, now),
    };
    const blank = Object.fromEntries(Object.keys(target.headers).map((name) => [name, '•••']));
    const secrets = [
      ...target.secrets.flatMap(({ secret }) => [secret, secret.slice(6)]),
      ...Object.values(target.headers),
    ];
    const hide = (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '•••'), text);
    const attempt = (status: number | null, error: string | null, response: Attempt['response']): Attempt => ({
      at: new Date(now),
      durationMs: Math.round(performance.now() - begun),
      status,
      error,
      trigger: row.trigger,
      request: { headers: { ...blank, ...ours } },
      response,
    });
    try {
      const response = await fetch(target.url, {
        method: 'POST',
        headers: { ...target.headers, ...ours },
        body: row.body,
        redirect: 'manual',
        signal: AbortSignal.timeout(this.#options.timeoutMs),
      });
      const headers = Object.fromEntries([...response.headers].map(([name, value]) => [name, hide(value)]));
      if (headers['set-cookie'] !== undefined) headers['set-cookie'] = '•••';
      const body = hide(await response.text()).slice(0, KEPT_BYTES);
      const retryAfter = response.headers.get('retry-after') ?? undefined;
      return { attempt: attempt(response.status, statusError(response.status), { headers, body }), retryAfter };
    } catch (error) {
      const kind = error instanceof DOMException && error.name === 'TimeoutError' ? 'timeout' : 'unreachable';
      return { attempt: attempt(null, kind, null), retryAfter: undefined };
    }
  }
}
