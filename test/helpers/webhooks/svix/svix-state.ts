/**
 * The data of a Svix server: applications, endpoints, messages and attempts, as in its database, and a queue in memory,
 * which is lost with it. Delivers messages as Svix does: signed by Standard Webhooks, by its schedule.
 */
import { createHmac, randomBytes } from 'node:crypto';

export interface SvixEndpoint {
  readonly id: string;
  uid: string | null;
  url: string;
  description: string;
  channels: readonly string[] | null;
  eventTypes: readonly string[] | null;
  disabled: boolean;
  throttleRate: number | null;
  headers: Record<string, string>;
  metadata: Record<string, string>;
  key: string;
  oldKeys: { readonly key: string; readonly until: number }[];
  readonly createdAt: string;
  updatedAt: string;
}

export interface SvixMessage {
  readonly id: string;
  readonly eventId: string | null;
  readonly eventType: string;
  readonly channels: readonly string[] | null;
  readonly body: string;
  readonly timestamp: string;
}

export interface SvixAttempt {
  readonly id: string;
  readonly msgId: string;
  readonly endpointId: string;
  readonly url: string;
  readonly timestamp: string;
  readonly status: 0 | 2;
  readonly triggerType: 0 | 1;
  readonly response: string;
  readonly responseStatusCode: number;
  readonly responseDurationMs: number;
  readonly nextAttempt: string | null;
}

export interface SvixApplication {
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly endpoints: Map<string, SvixEndpoint>;
  /** Deleted endpoints, which are still listed with their deliveries. */
  readonly deleted: Map<string, SvixEndpoint>;
  readonly messages: Map<string, SvixMessage>;
  readonly byEventId: Map<string, SvixMessage>;
  /** By message, the oldest first. */
  readonly attempts: Map<string, SvixAttempt[]>;
  /** Headers of endpoints as read with a message; null after a change of an endpoint other than its headers. */
  cache: ReadonlyMap<string, Readonly<Record<string, string>>> | null;
}

interface Task {
  readonly app: SvixApplication;
  readonly message: SvixMessage;
  readonly endpoint: string;
  readonly attempt: number;
  readonly trigger: 0 | 1;
  at: number;
}

/** Of its configuration, in milliseconds. */
const SCHEDULE = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].map((seconds) => seconds * 1_000);
const AT_ONCE_EACH = 10;

export class SvixState {
  readonly apps = new Map<string, SvixApplication>();
  /** How many messages were created for each `eventId`, in all applications. */
  readonly accepted = new Map<string, number>();
  readonly #now: () => number;
  readonly #timeoutMs: number;
  readonly #schedule: readonly number[];
  #tasks = new Set<Task>();
  readonly #underWay = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #life = new AbortController();
  #ids = 0;

  constructor(now: () => number, timeoutMs: number, schedule: readonly number[] = SCHEDULE) {
    this.#now = now;
    this.#timeoutMs = timeoutMs;
    this.#schedule = schedule;
  }

  time(): string {
    return new Date(this.#now()).toISOString();
  }

  /** Ids are in the order of creation. */
  newId(prefix: string): string {
    this.#ids += 1;
    const rest = `${Date.now().toString(36).padStart(9, '0')}${this.#ids.toString(36).padStart(8, '0')}`;
    return `${prefix}_${rest}${randomBytes(5).toString('hex')}`;
  }

  /** Data in memory is lost, and running attempts are aborted. */
  die(): void {
    this.#life.abort();
    this.#life = new AbortController();
    this.#tasks = new Set();
    this.#underWay.clear();
    clearTimeout(this.#timer);
  }

  /** Accepts a message for all matching endpoints. */
  create(app: SvixApplication, message: SvixMessage): void {
    app.messages.set(message.id, message);
    app.cache ??= new Map([...app.endpoints.values()].map(({ id, headers }) => [id, headers]));
    app.attempts.set(message.id, []);
    if (message.eventId !== null) {
      app.byEventId.set(message.eventId, message);
      this.accepted.set(message.eventId, (this.accepted.get(message.eventId) ?? 0) + 1);
    }
    for (const { id, channels, eventTypes, disabled } of app.endpoints.values()) {
      const listens = channels === null || channels.some((one) => message.channels?.includes(one));
      if (disabled || !listens || (eventTypes !== null && !eventTypes.includes(message.eventType))) continue;
      this.#tasks.add({ app, message, endpoint: id, attempt: 0, trigger: 0, at: this.#now() });
    }
    this.wake();
  }

  resend(app: SvixApplication, message: SvixMessage, endpoint: string): void {
    this.#tasks.add({ app, message, endpoint, attempt: 0, trigger: 1, at: this.#now() });
    this.wake();
  }

  /** Sends what is due. */
  wake(): void {
    clearTimeout(this.#timer);
    let next = Number.POSITIVE_INFINITY;
    for (const task of this.#tasks) {
      const calls = this.#underWay.get(task.endpoint) ?? 0;
      if (task.at > this.#now()) next = Math.min(next, task.at);
      else if (calls < AT_ONCE_EACH) {
        this.#tasks.delete(task);
        this.#underWay.set(task.endpoint, calls + 1);
        void this.#deliver(task, this.#life.signal);
      }
    }
    if (next < Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(() => this.wake(), Math.min(Math.max(next - this.#now(), 0) + 1, 60_000));
    }
  }

  async #deliver(task: Task, life: AbortSignal): Promise<void> {
    const { app, message, endpoint: id, attempt, trigger } = task;
    const endpoint = app.endpoints.get(id);
    if (endpoint !== undefined && !endpoint.disabled) {
      const timestamp = this.time();
      const begun = performance.now();
      const { code, response, retryAfter } = await this.#call(app, endpoint, message, life);
      if (life.aborted) return;
      const succeeded = code >= 200 && code < 300;
      const pause = succeeded || trigger === 1 ? undefined : this.#schedule[attempt];
      // A requested pause of the receiver counts up to twice the regular one.
      const next = pause === undefined ? null : this.#now() + Math.min(Math.max(pause, retryAfter * 1_000), 2 * pause);
      app.attempts.get(message.id)?.push({
        id: this.newId('atmpt'),
        msgId: message.id,
        endpointId: id,
        url: endpoint.url,
        timestamp,
        status: succeeded ? 0 : 2,
        triggerType: trigger,
        response,
        responseStatusCode: code,
        responseDurationMs: Math.round(performance.now() - begun),
        nextAttempt: next === null ? null : new Date(next).toISOString(),
      });
      if (next !== null) this.#tasks.add({ ...task, attempt: attempt + 1, at: next });
    }
    this.#underWay.set(id, Math.max(0, (this.#underWay.get(id) ?? 1) - 1));
    this.wake();
  }

  async #call(app: SvixApplication, endpoint: SvixEndpoint, { id, body }: SvixMessage, life: AbortSignal) {
    const at = String(Math.floor(this.#now() / 1_000));
    const live = [endpoint.key, ...endpoint.oldKeys.filter(({ until }) => until > this.#now()).map(({ key }) => key)];
    const signatures = live.map((key) => {
      const secret = Buffer.from(key.replace(/^whsec_/, ''), 'base64');
      return `v1,${createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64')}`;
    });
    const headers = {
      ...(app.cache?.get(endpoint.id) ?? endpoint.headers),
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': signatures.join(' '),
      'user-agent': 'Svix-Webhooks/1.99.0',
      'content-type': 'application/json',
    };
    const signal = AbortSignal.any([life, AbortSignal.timeout(this.#timeoutMs)]);
    try {
      const response = await fetch(endpoint.url, { method: 'POST', body, headers, redirect: 'manual', signal });
      const retryAfter = Number(response.headers.get('retry-after') ?? 0) || 0;
      return { code: response.status, response: await response.text(), retryAfter };
    } catch (error) {
      const late = error instanceof Error && error.name === 'TimeoutError';
      return { code: 0, response: late ? 'request timed out' : `error making request: ${error}`, retryAfter: 0 };
    }
  }
}
