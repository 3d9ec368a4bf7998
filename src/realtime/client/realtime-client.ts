/**
 * One realtime client: its principal, subscriptions, heartbeat, and limit for being slow. Shared by both transports.
 */
import {
  type AuthenticatedPrincipal,
  type Principal,
  type RequestPrincipal,
  toActorId,
} from '../../auth/identity/principal.ts';
import { formatPosition } from '../../events/log/position.ts';
import { MillraceError } from '../../lib/errors.ts';
import { EventSubscription } from '../subscription/event-subscription.ts';
import type { RealtimeDeps } from '../subscription/realtime-deps.ts';
import { CLOSE_CODES, type CloseCode } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import { type AnySubscription, ImpersonatedSubscriptions } from './impersonated-subscriptions.ts';

/** Heartbeats of silence after which a position is sent even if some subscriptions are further than it. */
const PATIENCE = 1.2;
/** A client is disconnected after this many heartbeats without sending anything, or without reading waiting bytes. */
const MOST_SILENT = 2.5;

/** Memory of a connection: a socket, its reader and its state. */
export const CONNECTION_OVERHEAD_BYTES = 16 * 1024;
/** Memory of a subscription without its query and its result. */
const SUBSCRIPTION_BYTES = 4 * 1024;
/** Memory per byte of JSON after it is parsed, bound and compiled. */
const OF_JSON = 20;

/** Memory of a subscription before it has a result. @param bytes of its query as the client sent it */
export function subscriptionMemoryBytes(bytes: number): number {
  return SUBSCRIPTION_BYTES + OF_JSON * bytes;
}

export abstract class RealtimeClient {
  protected readonly deps: RealtimeDeps;
  readonly queue: SendQueue;
  protected readonly subscriptions = new Map<string, AnySubscription>();
  /** Subscriptions that it opened as another principal. */
  protected readonly impersonatedSubscriptions: ImpersonatedSubscriptions;
  /** Null until the client is authenticated. */
  principal: RequestPrincipal | null = null;
  /** When its last message arrived; monotonic milliseconds. */
  protected lastMessageAt = performance.now();
  #position = -1;
  #positionAt = performance.now();
  #fullSince: number | null = null;
  #announcedEnd = false;
  #rescopeAt: number | null = null;
  #closed = false;

  constructor(deps: RealtimeDeps, queue: SendQueue) {
    this.deps = deps;
    this.queue = queue;
    this.impersonatedSubscriptions = new ImpersonatedSubscriptions(deps.impersonation);
    queue.onFull = () => this.#full();
    queue.onDrained = () => {
      this.#fullSince = null;
      // A ping could not reach it while its queue was full. Reading the whole queue is a sign of life.
      this.lastMessageAt = performance.now();
    };
  }

  /** The connection counts as dead after this time without traffic while bytes wait for it. */
  get idleTimeoutMs(): number {
    return this.deps.timing.heartbeatMs * MOST_SILENT;
  }

  /** Called when nothing was transferred for `idleTimeoutMs`. */
  handleStall(): void {
    if (this.queue.queuedBytes > 0) this.close(CLOSE_CODES.heartbeatLost, 'The heartbeat is lost');
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends the reason, ends the connection and closes the send queue. */
  protected abstract closeConnection(code: CloseCode, reason: string, retryAfterMs: number | null): void;

  /** Sends a message that is not about a subscription. */
  protected abstract report(type: string, fields: Readonly<Record<string, unknown>>, position: string | null): void;

  /**
   * The Authorization header, kept to authenticate again when rights change; null for a ticket or an anonymous client.
   */
  protected abstract readonly credential: string | null;

  /** Whether it responds to heartbeats. A client that does not is disconnected only when its connection stalls. */
  protected abstract readonly answersHeartbeats: boolean;

  /** Checks of one transport. @param now monotonic milliseconds */
  protected abstract checkTimeouts(now: number): void;

  /** Runs all timers; called at least every second. */
  tick(now: number): void {
    if (this.#closed) return;
    this.checkTimeouts(now);
    if (this.#closed || this.principal === null) return;
    for (const subscription of this.subscriptions.values())
      this.impersonatedSubscriptions.endIfExpired(subscription, Date.now());
    this.#lookAtCredential(this.principal);
    this.#lookAtScopes();
    if (this.#closed) return;
    const { lagMs } = this.deps.timing;
    if (this.#fullSince !== null) {
      const late = now - this.#fullSince >= lagMs;
      const events = [...this.subscriptions.values()].some((one) => one instanceof EventSubscription);
      if (late && events) this.close(CLOSE_CODES.tooSlow, 'Too slow');
      return;
    }
    if (this.answersHeartbeats && now - this.lastMessageAt >= this.idleTimeoutMs)
      this.close(CLOSE_CODES.heartbeatLost, 'The heartbeat is lost');
    else this.#beat(now);
  }

  #beat(now: number): void {
    const { hub, timing } = this.deps;
    const standings = [...this.subscriptions.values()].map(({ deliveredPosition }) => deliveredPosition);
    const reported = standings.filter((standing) => standing !== null);
    const number = reported.length === 0 ? hub.position.number : Math.min(...reported);
    // While one of them catches up, or during the evaluation of a batch, their positions differ for a short time.
    const together = reported.every((standing) => standing === number);
    const patience = timing.heartbeatMs * (together ? 1 : PATIENCE);
    const silent = now - this.queue.sentAt >= patience;
    const passed = together && number !== this.#position && now - this.#positionAt >= timing.positionMs;
    // A client that receives a lot needs a ping, too: without one it has nothing to respond to, and would seem dead.
    const unheard = this.answersHeartbeats && now - Math.max(this.lastMessageAt, this.#positionAt) >= patience;
    if (!silent && !passed && !unheard) return;
    this.#position = number;
    this.#positionAt = now;
    const position =
      reported.length > 0 ? formatPosition({ epoch: hub.position.epoch, number }) : this.readablePosition();
    const shown = position === null ? {} : { position };
    this.report('ping', shown, reported.length === standings.length ? position : null);
  }

  /**
   * The log position; null for a principal that can read nothing, because its growth would reveal how much others
   * write.
   */
  protected readablePosition(): string | null {
    const { principal, deps } = this;
    const isReader = principal !== null && deps.policies.readable(principal).anything;
    return isReader ? formatPosition(deps.hub.position) : null;
  }

  #lookAtCredential(principal: RequestPrincipal): void {
    if (principal.kind === 'anonymous' || principal.expiresAt === null) return;
    const left = principal.expiresAt - Date.now();
    if (left <= 0) {
      this.close(CLOSE_CODES.credentialEnded, 'The credential has expired');
      return;
    }
    if (left > this.deps.timing.expiringMs || this.#announcedEnd) return;
    this.#announcedEnd = true;
    this.report('expiring', { inMs: left }, null);
  }

  #lookAtScopes(): void {
    if (this.#rescopeAt === null || Date.now() < this.#rescopeAt) return;
    this.rescope();
  }

  /** Gets new Scopes from the policies for all subscriptions. */
  rescope(): void {
    const { principal } = this;
    if (principal === null) return;
    for (const subscription of [...this.subscriptions.values()])
      this.impersonatedSubscriptions.rescope(subscription, principal);
    this.scheduleRescope();
  }

  /** Whose rights decide what its open subscriptions receive, and of which collections; null for events of any. */
  get open(): readonly Pick<AnySubscription, 'principal' | 'collections'>[] {
    return [...this.subscriptions.values()];
  }

  /** Records when the first Scope ends, because a policy contains a time. */
  protected scheduleRescope(): void {
    const times = [...this.subscriptions.values()].flatMap(({ scopeUntil }) => scopeUntil ?? []);
    this.#rescopeAt = times.length === 0 ? null : Math.min(...times);
  }

  /**
   * Called when sessions, users, roles or keys have changed.
   * @param still whether a principal is unchanged and valid
   */
  async revoked(still: (principal: Principal) => boolean): Promise<void> {
    const { principal } = this;
    if (principal === null || this.#closed) return;
    for (const subscription of this.subscriptions.values())
      if (this.impersonatedSubscriptions.mayHaveChanged(subscription, still))
        void this.impersonatedSubscriptions.renew(subscription, principal);
    if (principal.kind === 'anonymous' || still(principal)) return;
    // The client may have authenticated as another principal in between; then this result is obsolete.
    const isMeant = () => !this.#closed && this.principal === principal;
    try {
      const next = await this.renewPrincipal(principal);
      if (isMeant()) this.switchPrincipal(next);
    } catch (error) {
      if (isMeant()) this.handleRenewalFailure(error);
    }
  }

  /** The principal could not be read again: it is no longer valid, or the read failed. */
  protected handleRenewalFailure(error: unknown): void {
    if (error instanceof MillraceError && error.status < 500) {
      this.close(CLOSE_CODES.notAuthenticated, 'The credential is no longer valid');
      return;
    }
    this.deps.onError(error);
    this.close(CLOSE_CODES.serverError, 'An unexpected error occurred');
  }

  /** The current principal. */
  protected async renewPrincipal(principal: AuthenticatedPrincipal): Promise<RequestPrincipal> {
    const { authenticator } = this.deps;
    // Without a header the client used a ticket, which is valid only once.
    return this.credential === null
      ? await authenticator.renew(principal)
      : await authenticator.authenticate(this.credential);
  }

  /** Continues with another principal, or the same one with other rights. */
  protected switchPrincipal(principal: RequestPrincipal): void {
    this.principal = principal;
    this.#announcedEnd = false;
    const { account } = this.queue;
    account.move(toActorId(principal));
    if (!account.hasRoom(0)) {
      this.closeOverloaded();
      return;
    }
    this.rescope();
    // It may be another administrator, whose impersonation has not been audited yet.
    for (const subscription of this.subscriptions.values())
      void this.impersonatedSubscriptions.renew(subscription, principal);
  }

  /** Called when its principal uses more memory than allowed. */
  protected closeOverloaded(): void {
    this.close(CLOSE_CODES.overloaded, 'The client uses too much memory', 5_000 + Math.floor(Math.random() * 5_000));
  }

  /** Ends everything. @param retryAfterMs when it may reconnect; only for codes from 4500 */
  close(code: CloseCode, reason: string, retryAfterMs = 1_000 + Math.floor(Math.random() * 1_000)): void {
    if (this.#closed) return;
    this.#stop();
    this.closeConnection(code, reason, code >= 4500 ? retryAfterMs : null);
  }

  /** Called when the connection has ended: stops everything, including tasks that wait for room in the queue. */
  handleDisconnect(): void {
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
