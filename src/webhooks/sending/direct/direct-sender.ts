/** The sender that needs only MongoDB: this process signs deliveries and calls their endpoints itself. */

import { EgressError } from '../../../egress/egress-error.ts';
import type { PostRequest, PostResponse } from '../../../egress/http-post.ts';
import type { EndpointDeliverySettings } from '../../endpoint/endpoint.ts';
import { MASKED_HEADER_VALUE } from '../../endpoint/endpoint-schema.ts';
import { type AttemptResponse, decideAttemptOutcome, MISSING_BODY_ERROR, statusError } from '../attempt-outcome.ts';
import type { StoredAttempt } from '../queue/delivery-row.ts';
import { BaseQueueSender, type QueueSenderOptions } from '../queue/queue-sender.ts';
import { type LeasedDelivery, SENDER_LIMITS } from '../queue/queue-types.ts';
import type { SendResult, Transport } from '../queue/transport.ts';
import { SecretRedactor } from '../redaction.ts';
import type { AttemptTrigger, SenderHealth } from '../sender.ts';
import { Signer } from '../signature.ts';

export interface DirectSenderOptions extends QueueSenderOptions {
  readonly egress: HttpPoster;
  /** Version of the program, for `user-agent`. */
  readonly version: string;
  /** From 0 to 1. */
  readonly random?: () => number;
}

export class DirectSender extends BaseQueueSender {
  constructor(options: DirectSenderOptions) {
    super(new DirectTransport(options), options);
  }
}

class DirectTransport implements Transport {
  readonly #poster: HttpPoster;
  readonly #agent: string;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  readonly #callees = new Map<string, PreparedEndpoint>();

  constructor({ egress, version, random = Math.random, limits }: DirectSenderOptions) {
    this.#poster = egress;
    this.#agent = `Millrace/${version}`;
    this.#random = random;
    this.#timeoutMs = limits?.timeoutMs ?? SENDER_LIMITS.timeoutMs;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  ensureEndpoint(target: EndpointDeliverySettings): void {
    this.#callees.set(target.id, new PreparedEndpoint(target, this.#agent));
  }

  removeEndpoint(id: string): void {
    this.#callees.delete(id);
  }

  issue(): null {
    return null;
  }

  headerIssue(): null {
    return null;
  }

  async send({ row, body }: LeasedDelivery, target: EndpointDeliverySettings, now: number): Promise<SendResult> {
    const { trigger, event } = row;
    const callee = this.#callees.get(target.id) ?? new PreparedEndpoint(target, this.#agent);
    const { response, attempt } = await callee.call(this.#poster, { event, body, trigger }, now, this.#timeoutMs);
    const succeeded = response.error === null;
    const attempts = row.attempt + 1;
    const ended = now + attempt.ms;
    const outcome = decideAttemptOutcome(
      response,
      { trigger, schedule: target.retrySchedule, attempts },
      this.#random(),
      ended,
    );
    return { succeeded, countsForBreaker: trigger !== 'test', outcome, attempts: [attempt], attempt: attempts };
  }

  state(): SenderHealth {
    return { kind: 'direct' };
  }
}

const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/** Calls an endpoint (egress/egress.ts). */
export interface HttpPoster {
  /** @throws EgressError if there is no response */
  post(url: string, request: PostRequest): Promise<PostResponse>;
}

/** An endpoint prepared for calls. */
export class PreparedEndpoint {
  readonly target: EndpointDeliverySettings;
  readonly #signer: Signer;
  readonly #fixed: Readonly<Record<string, string>>;
  /** `#fixed` with secrets redacted. */
  readonly #shown: Readonly<Record<string, string>>;
  readonly #redactions: SecretRedactor;

  /** @param agent value of `user-agent` */
  constructor(target: EndpointDeliverySettings, agent: string) {
    this.target = target;
    this.#signer = new Signer(target.secrets);
    const ours = { 'content-type': 'application/json', 'user-agent': agent };
    this.#fixed = { ...target.headers, ...ours };
    this.#redactions = new SecretRedactor(target);
    this.#shown = { ...this.#redactions.headers, ...ours };
  }

  /**
   * Makes one attempt. Never throws. A missing body is an error.
   * @param now milliseconds since 1970, for the signature and the record
   */
  async call(
    poster: HttpPoster,
    one: { readonly event: string; readonly body: string | null; readonly trigger: AttemptTrigger },
    now: number,
    timeoutMs: number,
  ): Promise<{ readonly response: AttemptResponse; readonly attempt: StoredAttempt }> {
    const signed = this.#signer.headers(one.event, one.body ?? '', now);
    const begun = performance.now();
    const kept = (status: number | null, error: string | null, response: StoredAttempt['response']) => ({
      at: new Date(now),
      ms: Math.round(performance.now() - begun),
      status,
      error,
      trigger: one.trigger,
      request: JSON.stringify({ ...this.#shown, ...signed }),
      response,
    });
    const none = (error: string) => ({
      response: { status: null, error, retryAfter: undefined },
      attempt: kept(null, error, null),
    });
    if (one.body === null) return none(MISSING_BODY_ERROR);
    try {
      const headers = { ...this.#fixed, ...signed };
      const request = { headers, body: one.body, timeoutMs, maxBytes: this.#redactions.maxBytes };
      const { status, headers: fields, body } = await poster.post(this.target.url, request);
      const error = statusError(status);
      const requested = fields['retry-after'];
      const response = { headers: this.#shownFields(fields), body: this.#redactions.body(body.toString('utf8')) };
      const retryAfter = typeof requested === 'string' ? requested : undefined;
      return { response: { status, error, retryAfter }, attempt: kept(status, error, response) };
    } catch (issue) {
      return none(issue instanceof EgressError ? issue.kind : 'unreachable');
    }
  }

  /** The header fields of a response as JSON. */
  #shownFields(fields: PostResponse['headers']): string {
    const shown: Record<string, string> = {};
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      const text = typeof value === 'string' ? value : value.join(', ');
      shown[name] = CREDENTIALS.has(name) ? MASKED_HEADER_VALUE : this.#redactions.text(text);
    }
    return JSON.stringify(shown);
  }
}
