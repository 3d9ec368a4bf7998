/**
 * The sender that leaves signing, calling and trying again to Svix. A delivery in the queue is the outbox of a message there:
 * it is told to Svix until that has accepted it, and then asked about until it has ended. Endpoints stay Millrace's, and Svix
 * gets their copies (svix-mirror.ts). Not here: Svix's API (svix-api.ts), and the queue (queue/).
 */
import { randomUUID } from 'node:crypto';
import { Lease } from '../../../database/lease.ts';
import type { EndpointTarget } from '../../endpoint/endpoint.ts';
import { Blanks } from '../blanks.ts';
import { GONE, NO_BODY } from '../outcome.ts';
import type { DueRow, Handed, StoredAttempt } from '../queue/delivery-row.ts';
import { QueueSender, type QueueSenderOptions } from '../queue/queue-sender.ts';
import type { TakenDelivery } from '../queue/taken.ts';
import type { Transport, TryResult } from '../queue/transport.ts';
import type { SenderState, StoredTargets } from '../sender.ts';
import { SvixApi, type SvixCaller, SvixFault } from './svix-api.ts';
import { SvixApplicationStore } from './svix-application-store.ts';
import { svixHeaderFault } from './svix-headers.ts';
import { createMessage, newTries, nextTry, resendMessage, type SvixTry } from './svix-messages.ts';
import { SvixMirror } from './svix-mirror.ts';

/** Times in milliseconds. */
export interface SvixTimes {
  /** Time for one call of Svix. */
  readonly callMs: number;
  /** How long a delivery waits for its endpoint to be known to Svix. */
  readonly settleMs: number;
  /** Pauses before Svix is asked again how a delivery went; the last one is repeated. */
  readonly lookMs: readonly number[];
  /** When Svix has not tried a message so long after it should have, it has lost it, and is told to send it again. */
  readonly lostMs: number;
  /** First pause after Svix did not answer. */
  readonly pauseMs: number;
  /** How long deliveries wait for an endpoint that Svix refuses, before it is looked whether it still does. */
  readonly refusedMs: number;
  /** From one comparison of all endpoints to the next. */
  readonly checkMs: number;
}

export const SVIX_TIMES: SvixTimes = {
  callMs: 4_000,
  settleMs: 2_000,
  lookMs: [1_000, 2_000, 5_000, 15_000, 60_000],
  lostMs: 120_000,
  pauseMs: 1_000,
  refusedMs: 60_000,
  checkMs: 3_600_000,
};

export interface SvixSenderOptions extends QueueSenderOptions {
  readonly url: string;
  readonly token: string;
  readonly egress: SvixCaller;
  readonly stored: StoredTargets;
  readonly times?: Partial<SvixTimes>;
}

/** Deliveries that are told or asked about at one time, of this process: one endpoint alone gets ten of them. */
const CALLS = { own: 0, shared: 20 };
/** Svix's clock may be a little behind. */
const LATE_MS = 1_000;
/** Svix does not take it, whatever is tried: it is too large, for example. */
const REFUSED = 'refused';

export class SvixSender extends QueueSender {
  constructor(options: SvixSenderOptions) {
    super(new SvixTransport(options), { ...options, limits: { calls: CALLS, ...options.limits } });
  }
}

class SvixTransport implements Transport {
  readonly #times: SvixTimes;
  readonly #api: SvixApi;
  readonly #mirror: SvixMirror;

  constructor({ url, token, egress, mongo, stored, times, clockOffsetMs = () => 0, ...options }: SvixSenderOptions) {
    const { onNote = () => undefined } = options;
    this.#times = { ...SVIX_TIMES, ...times };
    const { callMs: timeoutMs, pauseMs, checkMs } = this.#times;
    this.#api = new SvixApi({ url, token, egress, onNote, timeoutMs, pauseMs });
    const store = new SvixApplicationStore(mongo);
    const uid = () => store.uid();
    const now = () => Date.now() + clockOffsetMs();
    const lease = new Lease({ collection: mongo.log.collection('lease'), id: 'svix', owner: randomUUID() });
    this.#mirror = new SvixMirror({ api: this.#api, uid, stored, lease, onNote, checkMs, now });
  }

  async start(): Promise<void> {
    this.#mirror.start();
  }

  async stop(): Promise<void> {
    await this.#mirror.stop();
  }

  ensureEndpoint(target: EndpointTarget): void {
    this.#mirror.set(target);
  }

  removeEndpoint(id: string): void {
    this.#mirror.remove(id);
  }

  state(): SenderState {
    return this.#api.state();
  }

  fault(id: string): string | null {
    return this.#mirror.fault(id);
  }

  headerFault(name: string): string | null {
    return svixHeaderFault(name);
  }

  async send({ row, body }: TakenDelivery, target: EndpointTarget, now: number): Promise<TryResult> {
    const wait = this.#api.pause();
    // Not all of them at once when Svix answers again.
    if (wait > 0) return later(row, wait * (1 + Math.random()));
    if (!(await this.#mirror.settled(target.id, this.#times.settleMs))) {
      const { refusedMs } = this.#times;
      // All its deliveries wait, not each for itself: there may be many.
      if (this.#mirror.fault(target.id) !== null) return { ...later(row, 0), holdMs: refusedMs };
      return later(row, Math.max(this.#times.pauseMs, this.#api.pause()));
    }
    try {
      const app = await this.#mirror.application();
      const { handed } = row;
      if (handed?.since !== undefined) return await this.#ask(app, row, handed, target, now);
      if (handed !== undefined) return await this.#tellAgain(app, row, handed, now);
      if (body === null) return dead(row, NO_BODY, now);
      const { message, attempted } = await createMessage(this.#api, app, row, body);
      const pauseMs = attempted ? 0 : this.#pauseOf(0);
      return handedOver({ message, since: new Date(now) }, pauseMs);
    } catch (error) {
      return this.#failed(row, error, now);
    }
  }

  /** A resend or recover of what Svix had. */
  async #tellAgain(app: string, row: DueRow, handed: Handed, now: number): Promise<TryResult> {
    await resendMessage(this.#api, app, row, handed.message, 'resend');
    const { lost: _, ...rest } = handed;
    return handedOver({ ...rest, since: new Date(now) }, this.#pauseOf(0));
  }

  /** How did it go? */
  async #ask(app: string, row: DueRow, handed: Handed, target: EndpointTarget, now: number): Promise<TryResult> {
    const { message, seen, since } = handed;
    const tries = await newTries(this.#api, app, message, seen);
    const last = tries.at(-1);
    if (last === undefined) {
      if (now - (since?.getTime() ?? now) < this.#times.lostMs) return later(row, this.#pauseOf(row.tries), true);
      await resendMessage(this.#api, app, row, message, `lost-${seen ?? 0}`);
      return handedOver({ ...handed, since: new Date(now), lost: true }, this.#pauseOf(0));
    }
    const news = { attempts: attemptsOf(tries, row, target), tries: 0, succeeded: true, judged: false };
    const told = { message, seen: last.id };
    if (tries.some(({ error }) => error === null)) return { ...news, outcome: { state: 'delivered' }, handed: told };
    const over = row.trigger === 'test' || last.status === GONE;
    const next = over ? null : await nextTry(this.#api, app, { message, endpoint: row.endpoint }, now);
    // Told once more, it had one try. What was lost, or belonged to an endpoint that another one replaces, gets all its tries
    // with a new message.
    if (next === 'gone' || (next === null && handed.lost && !over))
      return { ...news, outcome: { state: 'pending', pauseMs: 0 }, handed: null };
    if (next === null) return { ...news, outcome: { state: 'dead' }, handed: told };
    const pauseMs = Math.max(next.getTime() - now, 0) + LATE_MS;
    return { ...news, outcome: { state: 'pending', pauseMs }, handed: { ...told, since: next } };
  }

  #failed(row: DueRow, error: unknown, now: number): TryResult {
    const fault = error instanceof SvixFault ? error.kind : 'away';
    if (fault === 'missing') this.#mirror.forgotten(row.endpoint);
    // Svix no longer has the message, or its body: it gets a new one.
    if (row.handed !== undefined && (fault === 'missing' || fault === 'refused')) {
      return { ...later(row, this.#pauseOf(row.tries), false), handed: null };
    }
    if (fault === 'refused') return dead(row, REFUSED, now);
    return later(row, Math.max(this.#pauseOf(row.tries), this.#api.pause()), false);
  }

  #pauseOf(tries: number): number {
    const { lookMs } = this.#times;
    return lookMs[Math.min(tries, lookMs.length - 1)] ?? 0;
  }
}

/** Nothing has changed: it is looked at again after a pause, in milliseconds. */
function later(row: DueRow, pauseMs: number, succeeded: boolean | null = null): TryResult {
  return { succeeded, judged: false, outcome: { state: 'pending', pauseMs }, attempts: [], tries: row.tries + 1 };
}

function handedOver(handed: Handed, pauseMs: number): TryResult {
  return { succeeded: true, judged: false, outcome: { state: 'pending', pauseMs }, attempts: [], tries: 0, handed };
}

function dead({ trigger }: DueRow, error: string, now: number): TryResult {
  const attempt = { at: new Date(now), ms: 0, status: null, error, trigger, request: '{}', response: null };
  return { succeeded: true, judged: false, outcome: { state: 'dead' }, attempts: [attempt], tries: 0 };
}

/** Tries as they are kept. Svix tells neither the fields that it sent nor those of the answer. */
function attemptsOf(tries: readonly SvixTry[], { trigger }: DueRow, target: EndpointTarget): readonly StoredAttempt[] {
  const blanks = new Blanks(target);
  const request = JSON.stringify(blanks.headers);
  return tries.map(({ at, durationMs: ms, status, error, body }) => {
    const response = status === null ? null : { headers: '{}', body: blanks.body(body) };
    return { at, ms, status, error, trigger, request, response };
  });
}
