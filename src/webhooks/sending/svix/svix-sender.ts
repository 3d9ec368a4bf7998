/**
 * The sender that leaves signing, requests and retries to Svix. A queued delivery is the outbox entry of a message
 * there: it is submitted until Svix has accepted it, and then polled until it has ended. Endpoints are mirrored to Svix
 * (svix-mirror.ts).
 */
import { randomUUID } from 'node:crypto';
import { Lease } from '../../../database/lease.ts';
import type { EndpointDeliverySettings } from '../../endpoint/endpoint.ts';
import { GONE_STATUS, MISSING_BODY_ERROR } from '../attempt-outcome.ts';
import type { DueDelivery, StoredAttempt, SvixMessageState } from '../queue/delivery-row.ts';
import { BaseQueueSender, type QueueSenderOptions } from '../queue/queue-sender.ts';
import type { LeasedDelivery } from '../queue/queue-types.ts';
import type { SendResult, Transport } from '../queue/transport.ts';
import { SecretRedactor } from '../redaction.ts';
import type { SenderHealth, StoredEndpointReader } from '../sender.ts';
import { type HttpFetcher, SvixApi, SvixError } from './svix-api.ts';
import { SvixApplicationStore } from './svix-application-store.ts';
import {
  createSvixMessage,
  listNewAttempts,
  nextRetryAt,
  resendSvixMessage,
  type SvixAttempt,
} from './svix-messages.ts';
import { SvixMirror } from './svix-mirror.ts';

/** Times in milliseconds. */
export interface SvixTimes {
  /** Timeout of one call of Svix. */
  readonly callMs: number;
  /** How long a delivery waits for its endpoint to be mirrored. */
  readonly settleMs: number;
  /** Intervals of polling Svix for a result; the last one repeats. */
  readonly pollMs: readonly number[];
  /** If Svix has not attempted a message this long after it was due, it has lost it, and the message is resent. */
  readonly lostMs: number;
  /** First pause after Svix did not respond. */
  readonly pauseMs: number;
  /** How long deliveries wait for an endpoint that Svix rejects, before the next check. */
  readonly refusedMs: number;
  /** Interval of full comparisons of endpoints. */
  readonly checkMs: number;
}

export const SVIX_TIMES: SvixTimes = {
  callMs: 4_000,
  settleMs: 2_000,
  pollMs: [1_000, 2_000, 5_000, 15_000, 60_000],
  lostMs: 120_000,
  pauseMs: 1_000,
  refusedMs: 60_000,
  checkMs: 3_600_000,
};

export interface SvixSenderOptions extends QueueSenderOptions {
  readonly url: string;
  readonly token: string;
  readonly egress: HttpFetcher;
  readonly stored: StoredEndpointReader;
  readonly times?: Partial<SvixTimes>;
}

/** Deliveries submitted or polled concurrently by this process: one endpoint alone gets ten of them. */
const CALLS = { own: 0, shared: 20 };
/** Svix's clock may be slightly behind. */
const LATE_MS = 1_000;
/** A retry cannot succeed: it is too large, for example. */
const REJECTED = 'rejected';

export class SvixSender extends BaseQueueSender {
  constructor(options: SvixSenderOptions) {
    super(new SvixTransport(options), { ...options, limits: { calls: CALLS, ...options.limits } });
  }
}

class SvixTransport implements Transport {
  readonly #times: SvixTimes;
  readonly #api: SvixApi;
  readonly #mirror: SvixMirror;

  constructor({ url, token, egress, mongo, stored, times, clockOffsetMs = () => 0, ...options }: SvixSenderOptions) {
    const { onLog = () => undefined } = options;
    this.#times = { ...SVIX_TIMES, ...times };
    const { callMs: timeoutMs, pauseMs, checkMs } = this.#times;
    this.#api = new SvixApi({ url, token, egress, onLog, timeoutMs, pauseMs });
    const store = new SvixApplicationStore(mongo);
    const uid = () => store.uid();
    const now = () => Date.now() + clockOffsetMs();
    const lease = new Lease({ collection: mongo.log.collection('lease'), id: 'svix', owner: randomUUID() });
    this.#mirror = new SvixMirror({ api: this.#api, uid, stored, lease, onLog, checkMs, now });
  }

  async start(): Promise<void> {
    this.#mirror.start();
  }

  async stop(): Promise<void> {
    await this.#mirror.stop();
  }

  ensureEndpoint(target: EndpointDeliverySettings): void {
    this.#mirror.set(target);
  }

  removeEndpoint(id: string): void {
    this.#mirror.remove(id);
  }

  state(): SenderHealth {
    return this.#api.state();
  }

  issue(id: string): string | null {
    return this.#mirror.issue(id);
  }

  headerIssue(name: string): string | null {
    return svixHeaderIssue(name);
  }

  async send({ row, body }: LeasedDelivery, target: EndpointDeliverySettings, now: number): Promise<SendResult> {
    const wait = this.#api.pause();
    // Not all of them at once when Svix responds again.
    if (wait > 0) return later(row, wait * (1 + Math.random()));
    if (!(await this.#mirror.settled(target.id, this.#times.settleMs))) {
      const { refusedMs } = this.#times;
      // The endpoint pauses, not each delivery by itself: there may be many.
      if (this.#mirror.issue(target.id) !== null) return { ...later(row, 0), holdMs: refusedMs };
      return later(row, Math.max(this.#times.pauseMs, this.#api.pause()));
    }
    try {
      const app = await this.#mirror.application();
      const { handed } = row;
      if (handed?.since !== undefined) return await this.#request(app, row, handed, target, now);
      if (handed !== undefined) return await this.#reportAgain(app, row, handed, now);
      if (body === null) return failedResult(row, MISSING_BODY_ERROR, now);
      const { message, attempted } = await createSvixMessage(this.#api, app, row, body);
      const pauseMs = attempted ? 0 : this.#pauseOf(0);
      return handedOver({ message, since: new Date(now) }, pauseMs);
    } catch (error) {
      return this.#failed(row, error, now);
    }
  }

  /** Resends or recovers a delivery that Svix had. */
  async #reportAgain(app: string, row: DueDelivery, handed: SvixMessageState, now: number): Promise<SendResult> {
    await resendSvixMessage(this.#api, app, row, handed.message, 'resend');
    const { lost: _, ...rest } = handed;
    return handedOver({ ...rest, since: new Date(now) }, this.#pauseOf(0));
  }

  /** Polls the result. */
  async #request(
    app: string,
    row: DueDelivery,
    handed: SvixMessageState,
    target: EndpointDeliverySettings,
    now: number,
  ): Promise<SendResult> {
    const { message, seen, since } = handed;
    const attempts = await listNewAttempts(this.#api, app, message, seen);
    const last = attempts.at(-1);
    if (last === undefined) {
      if (now - (since?.getTime() ?? now) < this.#times.lostMs) return later(row, this.#pauseOf(row.attempt), true);
      await resendSvixMessage(this.#api, app, row, message, `lost-${seen ?? 0}`);
      return handedOver({ ...handed, since: new Date(now), lost: true }, this.#pauseOf(0));
    }
    const news = { attempts: attemptsOf(attempts, row, target), attempt: 0, succeeded: true, countsForBreaker: false };
    const reported = { message, seen: last.id };
    if (attempts.some(({ error }) => error === null))
      return { ...news, outcome: { state: 'succeeded' }, handed: reported };
    const over = row.trigger === 'test' || last.status === GONE_STATUS;
    const next = over ? null : await nextRetryAt(this.#api, app, { message, endpoint: row.endpoint }, now);
    // A resent message had one attempt. A lost one, or one of a replaced endpoint, gets all its attempts as a new
    // message.
    if (next === 'gone' || (next === null && handed.lost && !over))
      return { ...news, outcome: { state: 'pending', pauseMs: 0 }, handed: null };
    if (next === null) return { ...news, outcome: { state: 'failed' }, handed: reported };
    const pauseMs = Math.max(next.getTime() - now, 0) + LATE_MS;
    return { ...news, outcome: { state: 'pending', pauseMs }, handed: { ...reported, since: next } };
  }

  #failed(row: DueDelivery, error: unknown, now: number): SendResult {
    const issue = error instanceof SvixError ? error.kind : 'away';
    if (issue === 'missing') this.#mirror.forgotten(row.endpoint);
    // Svix no longer has the message, or its body: it gets a new one.
    if (row.handed !== undefined && (issue === 'missing' || issue === 'refused')) {
      return { ...later(row, this.#pauseOf(row.attempt), false), handed: null };
    }
    if (issue === 'refused') return failedResult(row, REJECTED, now);
    return later(row, Math.max(this.#pauseOf(row.attempt), this.#api.pause()), false);
  }

  #pauseOf(attempts: number): number {
    const { pollMs } = this.#times;
    return pollMs[Math.min(attempts, pollMs.length - 1)] ?? 0;
  }
}

/** Nothing has changed: it is polled again after a pause, in milliseconds. */
function later(row: DueDelivery, pauseMs: number, succeeded: boolean | null = null): SendResult {
  return {
    succeeded,
    countsForBreaker: false,
    outcome: { state: 'pending', pauseMs },
    attempts: [],
    attempt: row.attempt + 1,
  };
}

function handedOver(handed: SvixMessageState, pauseMs: number): SendResult {
  return {
    succeeded: true,
    countsForBreaker: false,
    outcome: { state: 'pending', pauseMs },
    attempts: [],
    attempt: 0,
    handed,
  };
}

function failedResult({ trigger }: DueDelivery, error: string, now: number): SendResult {
  const attempt = { at: new Date(now), ms: 0, status: null, error, trigger, request: '{}', response: null };
  return { succeeded: true, countsForBreaker: false, outcome: { state: 'failed' }, attempts: [attempt], attempt: 0 };
}

/** Attempts as stored. Svix returns neither the fields that it sent nor those of the response. */
function attemptsOf(
  attempts: readonly SvixAttempt[],
  { trigger }: DueDelivery,
  target: EndpointDeliverySettings,
): readonly StoredAttempt[] {
  const redactions = new SecretRedactor(target);
  const request = JSON.stringify(redactions.headers);
  return attempts.map(({ at, durationMs: ms, status, error, body }) => {
    const response = status === null ? null : { headers: '{}', body: redactions.body(body) };
    return { at, ms, status, error, trigger, request, response };
  });
}

/** From `FORBIDDEN_KEYS` of Svix 1.99; endpoint/custom-headers.ts rejects others for every sender. */
const NAMES: ReadonlySet<string> = new Set([
  'age',
  'cache-control',
  'clear-site-data',
  'expires',
  'pragma',
  'trailers',
  'warning',
]);
const PREFIXES = ['svix-', 'x-svix-', 'x-amz-', 'x-amzn-', 'x-azure-', 'x-fd-', 'x-gfe', 'x-goog-', 'x-google'];

/** @returns why Svix does not send it, as a sentence without its subject; null if it does */
function svixHeaderIssue(name: string): string | null {
  const lower = name.toLowerCase();
  const isRefused = NAMES.has(lower) || PREFIXES.some((prefix) => lower.startsWith(prefix));
  return isRefused ? 'is not sent by Svix, which sends the webhooks of this instance' : null;
}
