/**
 * One client of live data: its principal, its subscriptions, its heartbeat, and how long it may be too slow. Common to
 * both transports. Not here: how messages are sent and how the connection ends, which differ (socket-client.ts,
 * stream-client.ts).
 */
import { actorOf, type ClientPrincipal, type Principal, type ProvenPrincipal } from '../../auth/identity/principal.ts';
import { formatPosition } from '../../events/log/position.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { EventSubscription } from '../subscription/event-subscription.ts';
import type { RealtimeParts } from '../subscription/realtime-parts.ts';
import { CLOSE, type CloseCode } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import { type ClientSubscription, Views } from './views.ts';

/** Heartbeats of silence after which a position is sent even when some subscriptions are further than it. */
const PATIENCE = 1.2;
/** After so many heartbeats a client is given up when it sends nothing, or takes nothing of the bytes that wait. */
const MOST_SILENT = 2.5;

/** The memory of a connection: a socket, its reader and its state. */
export const CLIENT_BYTES = 16 * 1024;
/** The memory of a subscription besides its question and its answer. */
const SUBSCRIPTION_BYTES = 4 * 1024;
/** The memory of one byte of JSON after it is parsed, bound and compiled. */
const OF_JSON = 20;

/** The memory of a subscription before it has an answer. @param bytes of its question as the client sent it */
export function weightOf(bytes: number): number {
  return SUBSCRIPTION_BYTES + OF_JSON * bytes;
}

export abstract class Client {
  protected readonly parts: RealtimeParts;
  readonly queue: SendQueue;
  protected readonly subscriptions = new Map<string, ClientSubscription>();
  /** Those that it opened as another principal. */
  protected readonly views: Views;
  /** Null until the client is authenticated. */
  principal: ClientPrincipal | null = null;
  /** When its last message came; monotonic milliseconds. */
  protected heardAt = performance.now();
  #position = -1;
  #positionAt = performance.now();
  #fullSince: number | null = null;
  #announcedEnd = false;
  #rescopeAt: number | null = null;
  #closed = false;

  constructor(parts: RealtimeParts, queue: SendQueue) {
    this.parts = parts;
    this.queue = queue;
    this.views = new Views(parts.lookingAs);
    queue.onFull = () => this.#full();
    queue.onDrained = () => {
      this.#fullSince = null;
      // A ping could not reach it while its queue was full. That it has taken all of the queue is a sign of life.
      this.heardAt = performance.now();
    };
  }

  /** After how long without any traffic its line counts as dead while bytes wait for it. */
  get patienceMs(): number {
    return this.parts.timing.heartbeatMs * MOST_SILENT;
  }

  /** Called when nothing has passed on its line for `patienceMs`. */
  stalled(): void {
    if (this.queue.queuedBytes > 0) this.close(CLOSE.heartbeatLost, 'The heartbeat is lost');
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends the reason, ends the line and closes the send queue. */
  protected abstract shut(code: CloseCode, reason: string, retryAfterMs: number | null): void;

  /** Sends a message that is not about a subscription. */
  protected abstract tell(type: string, members: Readonly<Record<string, unknown>>, position: string | null): void;

  /** The Authorization header, kept to authenticate again when rights change; null for a ticket and for anonymous. */
  protected abstract readonly credential: string | null;

  /** Whether it answers heartbeats. A client that does not is given up only when its line stands still. */
  protected abstract readonly answers: boolean;

  /** Checks that only one of the transports needs. @param now monotonic milliseconds */
  protected abstract look(now: number): void;

  /** Does everything that depends on time; called every second or more often. */
  tick(now: number): void {
    if (this.#closed) return;
    this.look(now);
    if (this.#closed || this.principal === null) return;
    for (const subscription of this.subscriptions.values()) this.views.look(subscription, Date.now());
    this.#lookAtCredential(this.principal);
    this.#lookAtScopes();
    if (this.#closed) return;
    const { lagMs } = this.parts.timing;
    if (this.#fullSince !== null) {
      const late = now - this.#fullSince >= lagMs;
      const events = [...this.subscriptions.values()].some((one) => one instanceof EventSubscription);
      if (late && events) this.close(CLOSE.tooSlow, 'Too slow');
      return;
    }
    if (this.answers && now - this.heardAt >= this.patienceMs) this.close(CLOSE.heartbeatLost, 'The heartbeat is lost');
    else this.#beat(now);
  }

  #beat(now: number): void {
    const { hub, timing } = this.parts;
    const standings = [...this.subscriptions.values()].map(({ standing }) => standing);
    const told = standings.filter((standing) => standing !== null);
    const number = told.length === 0 ? hub.position.number : Math.min(...told);
    // While one of them catches up, or a batch is being evaluated, they stand at different places for a short time.
    const together = told.every((standing) => standing === number);
    const patience = timing.heartbeatMs * (together ? 1 : PATIENCE);
    const silent = now - this.queue.sentAt >= patience;
    const passed = together && number !== this.#position && now - this.#positionAt >= timing.positionMs;
    // A client that is sent much needs a ping, too: without one it has nothing to answer, and would seem dead.
    const unheard = this.answers && now - Math.max(this.heardAt, this.#positionAt) >= patience;
    if (!silent && !passed && !unheard) return;
    this.#position = number;
    this.#positionAt = now;
    const position = told.length > 0 ? formatPosition({ epoch: hub.position.epoch, number }) : this.whereItIs();
    const shown = position === null ? {} : { position };
    this.tell('ping', shown, told.length === standings.length ? position : null);
  }

  /**
   * The position of the log; null for a principal that can read nothing, because the growth of the number shows how
   * much others write.
   */
  protected whereItIs(): string | null {
    const { principal, parts } = this;
    const isReader = principal !== null && parts.policies.readable(principal).anything;
    return isReader ? formatPosition(parts.hub.position) : null;
  }

  #lookAtCredential(principal: ClientPrincipal): void {
    if (principal.kind === 'anonymous' || principal.expiresAt === null) return;
    const left = principal.expiresAt - Date.now();
    if (left <= 0) {
      this.close(CLOSE.credentialEnded, 'The credential has ended');
      return;
    }
    if (left > this.parts.timing.expiringMs || this.#announcedEnd) return;
    this.#announcedEnd = true;
    this.tell('expiring', { inMs: left }, null);
  }

  #lookAtScopes(): void {
    if (this.#rescopeAt === null || Date.now() < this.#rescopeAt) return;
    this.rescope();
  }

  /** Gets new Scopes from the policies for all subscriptions. */
  rescope(): void {
    const { principal } = this;
    if (principal === null) return;
    for (const subscription of [...this.subscriptions.values()]) this.views.rescope(subscription, principal);
    this.noteScopes();
  }

  /** Whose rights decide what its open subscriptions are sent, and of which collections; null for events of any. */
  get open(): readonly Pick<ClientSubscription, 'principal' | 'collections'>[] {
    return [...this.subscriptions.values()];
  }

  /** Notes when the first Scope ends, because a policy names the time. */
  protected noteScopes(): void {
    const times = [...this.subscriptions.values()].flatMap(({ scopeUntil }) => scopeUntil ?? []);
    this.#rescopeAt = times.length === 0 ? null : Math.min(...times);
  }

  /**
   * Called when sessions, users, roles or keys have changed.
   * @param still whether a principal is still valid as it is
   */
  async revoked(still: (principal: Principal) => boolean): Promise<void> {
    const { principal } = this;
    if (principal === null || this.#closed) return;
    for (const subscription of this.subscriptions.values())
      if (this.views.isDoubtful(subscription, still)) void this.views.renew(subscription, principal);
    if (principal.kind === 'anonymous' || still(principal)) return;
    // The client may have authenticated as another principal meanwhile; then this result no longer concerns it.
    const isMeant = () => !this.#closed && this.principal === principal;
    try {
      const next = await this.renewed(principal);
      if (isMeant()) this.become(next);
    } catch (error) {
      if (isMeant()) this.notRenewed(error);
    }
  }

  /** The principal could not be read again: it is no longer valid, or the read failed. */
  protected notRenewed(error: unknown): void {
    if (error instanceof MillraceError && error.status < 500) {
      this.close(CLOSE.notAuthenticated, 'The credential is no longer valid');
      return;
    }
    this.parts.onError(error);
    this.close(CLOSE.serverError, 'An unexpected error occurred');
  }

  /** The principal as it is by now. */
  protected async renewed(principal: ProvenPrincipal): Promise<ClientPrincipal> {
    const { authenticator } = this.parts;
    // Without a header the client used a ticket, which works only once.
    return this.credential === null
      ? await authenticator.renew(principal)
      : await authenticator.authenticate(this.credential);
  }

  /** Goes on with another principal, or the same one with other rights. */
  protected become(principal: ClientPrincipal): void {
    this.principal = principal;
    this.#announcedEnd = false;
    const { account } = this.queue;
    account.move(actorOf(principal));
    if (!account.hasRoom(0)) {
      this.overloaded();
      return;
    }
    this.rescope();
    // It may be another owner, for whom looking as others has not been noted yet.
    for (const subscription of this.subscriptions.values()) void this.views.renew(subscription, principal);
  }

  /** Called when its principal holds more memory than it may. */
  protected overloaded(): void {
    this.close(CLOSE.overloaded, 'Too much is held in memory', 5_000 + Math.floor(Math.random() * 5_000));
  }

  /** Ends everything. @param retryAfterMs when it may come back; only for codes from 4500 */
  close(code: CloseCode, reason: string, retryAfterMs = 1_000 + Math.floor(Math.random() * 1_000)): void {
    if (this.#closed) return;
    this.#stop();
    this.shut(code, reason, code >= 4500 ? retryAfterMs : null);
  }

  /** Called when the line has ended: stops everything, also what waits for room in the queue. */
  gone(): void {
    this.#stop();
    this.queue.close();
  }

  #stop(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const subscription of this.subscriptions.values()) subscription.stop();
    this.subscriptions.clear();
  }

  #full(): void {
    this.#fullSince ??= performance.now();
    for (const subscription of this.subscriptions.values()) subscription.lag();
  }
}
