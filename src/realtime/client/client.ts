/**
 * One client of live data, whatever its line is: its principal, its subscriptions, its heartbeat. What differs between
 * a socket and a stream (socket-client.ts, stream-client.ts) is how things are said and how the line ends.
 */
import { actorOf, type Principal } from '../../auth/identity/principal.ts';
import { formatPosition } from '../../events/log/position.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { DocumentSubscription } from '../subscription/document-subscription.ts';
import { EventSubscription } from '../subscription/event-subscription.ts';
import type { RealtimeParts } from '../subscription/realtime-parts.ts';
import { CLOSE, type CloseCode } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';

/** Heartbeats of silence before a position is told that only some subscriptions stand at. */
const PATIENCE = 1.2;
/** Heartbeats after which a client is given up that says nothing, or takes nothing of what waits for it. */
const MOST_SILENT = 2.5;

/** What a connection takes in memory: a socket, its reader and what is known of it. */
export const CLIENT_BYTES = 16 * 1024;
/** What a subscription takes besides its question and its answer. */
const SUBSCRIPTION_BYTES = 4 * 1024;
/** What a byte of JSON takes once it is read, bound and compiled. */
const OF_JSON = 20;

/** What a subscription takes in memory before it has an answer. @param bytes of its question as it was asked */
export function weightOf(bytes: number): number {
  return SUBSCRIPTION_BYTES + OF_JSON * bytes;
}

export type ClientSubscription = DocumentSubscription | EventSubscription;

export abstract class Client {
  protected readonly parts: RealtimeParts;
  readonly queue: SendQueue;
  protected readonly subscriptions = new Map<string, ClientSubscription>();
  /** Null until it has said who it is. */
  principal: Principal | null = null;
  /** When it last said something; monotonic milliseconds. */
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
    queue.onFull = () => this.#full();
    queue.onDrained = () => {
      this.#fullSince = null;
      // It could not be asked, and has taken all that stood before the question.
      this.heardAt = performance.now();
    };
  }

  /** After how long nothing may have passed on its line while something waits for it. */
  get patienceMs(): number {
    return this.parts.timing.heartbeatMs * MOST_SILENT;
  }

  /** Nothing has passed on its line for that long. */
  stalled(): void {
    if (this.queue.queuedBytes > 0) this.close(CLOSE.heartbeatLost, 'The heartbeat is lost');
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Says why, ends the line and closes the queue. */
  protected abstract shut(code: CloseCode, reason: string, retryAfterMs: number | null): void;

  /** Says something about no subscription. */
  protected abstract tell(type: string, members: Readonly<Record<string, unknown>>, position: string | null): void;

  /** The header that proves who it is, kept to ask again when rights change; null for a ticket, and for nobody. */
  protected abstract readonly credential: string | null;

  /** Whether it answers heartbeats: whoever does not can only be given up when its line stands still. */
  protected abstract readonly answers: boolean;

  /** What only one kind of line has to look after. @param now monotonic milliseconds */
  protected abstract look(now: number): void;

  /** Looks after everything that depends on time; called every second or oftener. */
  tick(now: number): void {
    if (this.#closed) return;
    this.look(now);
    if (this.#closed || this.principal === null) return;
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
    // While one of them catches up, or a batch is being judged, they stand at different places: that passes.
    const together = told.every((standing) => standing === number);
    const patience = timing.heartbeatMs * (together ? 1 : PATIENCE);
    const silent = now - this.queue.sentAt >= patience;
    const passed = together && number !== this.#position && now - this.#positionAt >= timing.positionMs;
    // Whoever is told much has to be asked, too, or would seem dead for want of a question.
    const unheard = this.answers && now - Math.max(this.heardAt, this.#positionAt) >= patience;
    if (!silent && !passed && !unheard) return;
    this.#position = number;
    this.#positionAt = now;
    const position = told.length > 0 ? formatPosition({ epoch: hub.position.epoch, number }) : this.whereItIs();
    const shown = position === null ? {} : { position };
    this.tell('ping', shown, told.length === standings.length ? position : null);
  }

  /**
   * The position of the log; null for a principal that can read nothing: how fast the number grows says how much others
   * write.
   */
  protected whereItIs(): string | null {
    const { principal, parts } = this;
    const isReader = principal !== null && parts.policies.readable(principal).anything;
    return isReader ? formatPosition(parts.hub.position) : null;
  }

  #lookAtCredential(principal: Principal): void {
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

  /** Asks the policies again for all subscriptions. */
  rescope(): void {
    const { principal } = this;
    if (principal === null) return;
    for (const subscription of [...this.subscriptions.values()]) subscription.rescope(principal);
    this.noteScopes();
  }

  /** Notes when a policy that names the time has to be asked again. */
  protected noteScopes(): void {
    const times = [...this.subscriptions.values()].flatMap(({ scopeUntil }) => scopeUntil ?? []);
    this.#rescopeAt = times.length === 0 ? null : Math.min(...times);
  }

  /** Sessions, users, roles or keys changed. */
  async revoked(still: (principal: Principal) => boolean): Promise<void> {
    const { principal } = this;
    if (principal === null || principal.kind === 'anonymous' || still(principal) || this.#closed) return;
    // Whoever has come to be somebody else meanwhile is not meant any more.
    const isMeant = () => !this.#closed && this.principal === principal;
    try {
      const next = await this.renewed(principal);
      if (isMeant()) this.become(next);
    } catch (error) {
      if (isMeant()) this.notRenewed(error);
    }
  }

  /** The principal could not be read anew: it is none any more, or nobody knows. */
  protected notRenewed(error: unknown): void {
    if (error instanceof MillraceError && error.status < 500) {
      this.close(CLOSE.notAuthenticated, 'The credential is no longer valid');
      return;
    }
    this.parts.onError(error);
    this.close(CLOSE.serverError, 'An unexpected error occurred');
  }

  /** The principal as it is by now. */
  protected async renewed(principal: Exclude<Principal, { kind: 'anonymous' }>): Promise<Principal> {
    const { authenticator } = this.parts;
    // Without a header, a ticket has proved who it is, once.
    return this.credential === null
      ? await authenticator.renew(principal)
      : await authenticator.authenticate(this.credential);
  }

  /** Another principal, or the same with other rights, goes on. */
  protected become(principal: Principal): void {
    this.principal = principal;
    this.#announcedEnd = false;
    const { account } = this.queue;
    account.move(actorOf(principal));
    if (account.hasRoom(0)) this.rescope();
    else this.overloaded();
  }

  /** Its principal holds more than it may. */
  protected overloaded(): void {
    this.close(CLOSE.overloaded, 'Too much is held in memory', 5_000 + Math.floor(Math.random() * 5_000));
  }

  /** Ends everything. @param retryAfterMs when it may come back; only for codes from 4500 */
  close(code: CloseCode, reason: string, retryAfterMs = 1_000 + Math.floor(Math.random() * 1_000)): void {
    if (this.#closed) return;
    this.#stop();
    this.shut(code, reason, code >= 4500 ? retryAfterMs : null);
  }

  /** The line has ended: nothing waits for it to take more. */
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
