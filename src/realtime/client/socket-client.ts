/** One WebSocket: executes its messages in order. Frames go through the send queue, so they cannot be compressed. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ANONYMOUS, type RequestPrincipal } from '../../auth/identity/principal.ts';
import { RateLimiter } from '../../auth/request-rate-limiter.ts';
import { parseCollectionName } from '../../database/parse-collection-name.ts';
import { ERRORS, MillraceError } from '../../lib/errors.ts';
import { problemFields } from '../../lib/problem.ts';
import { parseQueryJson } from '../../query/parse/parse-query.ts';
import { toSubscriptionQuery } from '../result/live-query-spec.ts';
import { CollectionSubscription } from '../subscription/collection-subscription.ts';
import { EventSubscription } from '../subscription/event-subscription.ts';
import type { RealtimeDeps } from '../subscription/realtime-deps.ts';
import { encodeMessage } from '../wire/encode-message.ts';
import {
  BadFrame,
  BadMessage,
  CLOSE_CODES,
  type ClientMessage,
  type CloseCode,
  parseClientMessage,
  type SubscriptionRequest,
} from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { AnySubscription } from './impersonated-subscriptions.ts';
import { RealtimeClient, subscriptionMemoryBytes } from './realtime-client.ts';

/** Messages that may arrive at once. */
const MESSAGE_BURST = 100;
const SOCKET_LIMITS = { subscriptions: 200, frameBytes: 65_536, messagesPerSecond: 50 } as const;
/** Messages that may wait for an earlier one. */
const MOST_WAITING = 200;
const BYE_MS = 50;
/** Maximum total cost of all filters of a connection (query/evaluate/filter-cost.ts), in nanoseconds per byte. */
const MOST_COST = 4_000;

/** The part of a WebSocket that is used here. */
export interface WebSocketLike {
  close(code: number, reason: string): void;
  terminate(): void;
}

export class SocketClient extends RealtimeClient {
  readonly #id = `c_${randomBytes(9).toString('base64url')}`;
  protected readonly answersHeartbeats = true;
  readonly #socket: WebSocketLike;
  readonly #openedAt = performance.now();
  protected credential: string | null = null;
  readonly #rate = new RateLimiter(60 * SOCKET_LIMITS.messagesPerSecond, MESSAGE_BURST);
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: RealtimeDeps, queue: SendQueue, socket: WebSocketLike) {
    super(deps, queue);
    this.#socket = socket;
  }

  /** Continues as a principal. @param credential the Authorization header; null for a ticket */
  welcome(principal: RequestPrincipal, credential: string | null): void {
    this.credential = credential;
    this.principal = principal;
    const position = this.readablePosition();
    const shown =
      principal.kind === 'anonymous' ? { kind: principal.kind } : { kind: principal.kind, id: principal.id };
    this.report('welcome', {
      connection: this.#id,
      principal: shown,
      ...(position === null ? {} : { position }),
      heartbeatMs: this.deps.timing.heartbeatMs,
      limits: SOCKET_LIMITS,
    });
    this.switchPrincipal(principal);
  }

  /** Authenticates by a ticket instead of a hello. */
  redeemTicket(ticket: string): void {
    this.#enqueue(async () => {
      try {
        const principal = await this.deps.authenticator.redeemTicket(ticket);
        if (!this.closed) this.welcome(principal, null);
      } catch (error) {
        if (!(error instanceof MillraceError) || error.status >= 500) throw error;
        this.close(CLOSE_CODES.notAuthenticated, 'The ticket is invalid');
      }
    }, 0);
  }

  /** Called for each message. */
  handleMessage(bytes: Buffer, isBinary: boolean): void {
    if (this.closed) return;
    this.lastMessageAt = performance.now();
    if (this.#isTooFast()) {
      this.close(CLOSE_CODES.rate, 'Too many messages');
      return;
    }
    if (bytes.length > SOCKET_LIMITS.frameBytes) {
      this.close(CLOSE_CODES.frameTooBig, 'The frame is too big');
      return;
    }
    if (isBinary) {
      this.close(CLOSE_CODES.badFrame, 'Frames must be text');
      return;
    }
    let message: ClientMessage;
    try {
      message = parseClientMessage(bytes);
    } catch (error) {
      if (error instanceof BadFrame) {
        this.close(CLOSE_CODES.badFrame, error.message);
        return;
      }
      if (!(error instanceof BadMessage)) throw error;
      this.#enqueue(() => {
        if (this.principal === null) this.close(CLOSE_CODES.badFrame, error.message);
        else this.#refuse(error);
      }, bytes.length);
      return;
    }
    if (message.type === 'pong') return;
    this.#enqueue(() => this.#do(message, bytes.length), bytes.length);
  }

  /** Runs a task after all earlier ones. @param bytes of the message, which stays in memory until then */
  #enqueue(task: () => Promise<void> | void, bytes: number): void {
    const { account } = this.queue;
    const weight = subscriptionMemoryBytes(bytes);
    if (!account.hasRoom(weight)) {
      this.closeOverloaded();
      return;
    }
    if (++this.#waiting > MOST_WAITING) {
      this.close(CLOSE_CODES.rate, 'Too many messages');
      return;
    }
    account.note(weight);
    // In order: messages after an `authenticate` are executed as the new principal.
    this.#last = this.#last
      .then(() => (this.closed ? undefined : task()))
      .catch((error: unknown) => {
        this.deps.onError(error);
        this.close(CLOSE_CODES.serverError, 'An unexpected error occurred');
      })
      .finally(() => {
        this.#waiting -= 1;
        account.note(-weight);
      });
  }

  /** Called for each control frame: it counts as a message, and as a sign of life. */
  handleControlFrame(): void {
    this.lastMessageAt = performance.now();
    if (this.#isTooFast()) this.close(CLOSE_CODES.rate, 'Too many messages');
  }

  /** Takes the token of one message. */
  #isTooFast(): boolean {
    return this.#rate.take('', performance.now()) > 0;
  }

  async #do(message: ClientMessage, bytes: number): Promise<void> {
    if (this.principal === null && message.type !== 'hello') {
      this.close(CLOSE_CODES.badFrame, 'The first message must be hello');
      return;
    }
    switch (message.type) {
      case 'hello':
        if (this.principal === null) return await this.#signIn(message.token);
        if (message.token !== null) this.#refuse(new BadMessage(again(), null));
        return;
      case 'authenticate':
        return await this.#signIn(message.token);
      case 'subscribe':
        return await this.#subscribe(message.request, bytes);
      case 'unsubscribe':
        return this.#unsubscribe(message.id);
      case 'pong':
        return;
      default:
        return message satisfies never;
    }
  }

  async #signIn(token: string | null): Promise<void> {
    if (token === null) return this.welcome(ANONYMOUS, null);
    const credential = `Bearer ${token}`;
    try {
      const principal = await this.deps.authenticator.authenticate(credential);
      if (!this.closed) this.welcome(principal, credential);
    } catch (error) {
      if (!(error instanceof MillraceError) || error.status >= 500) throw error;
      this.close(CLOSE_CODES.notAuthenticated, 'The token is invalid');
    }
  }

  async #subscribe(request: SubscriptionRequest, bytes: number): Promise<void> {
    const { id, as } = request;
    if (this.subscriptions.has(id)) {
      const issue = new MillraceError('subscription-exists', `The subscription '${id}' exists`);
      this.#refuse(new BadMessage(issue, id));
      return;
    }
    try {
      if (this.subscriptions.size >= SOCKET_LIMITS.subscriptions) {
        throw new MillraceError(
          'too-many-subscriptions',
          `A connection can have at most ${SOCKET_LIMITS.subscriptions} subscriptions`,
        );
      }
      const asker = this.principal ?? ANONYMOUS;
      this.deps.requestRate.takeRequest(asker, this.queue.account.key);
      const principal = as === null ? asker : await this.deps.impersonation.begin(asker, as, null);
      if (this.closed) return;
      const subscription = this.#make(request, principal);
      this.#requireAffordable(subscription);
      this.subscriptions.set(id, subscription);
      if (as !== null) this.impersonatedSubscriptions.add(subscription, as, principal);
      this.scheduleRescope();
      subscription.start(request.since, subscriptionMemoryBytes(bytes));
      // Again: this client did not receive changes between the read of that principal and now.
      if (as !== null) void this.impersonatedSubscriptions.renew(subscription, this.principal ?? ANONYMOUS);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      this.subscriptions.get(id)?.stop();
      this.subscriptions.delete(id);
      this.#refuse(new BadMessage(error, id, true));
    }
  }

  #requireAffordable(subscription: AnySubscription): void {
    const cost = [...this.subscriptions.values()].reduce((sum, one) => sum + one.cost, subscription.cost);
    if (cost <= MOST_COST) return;
    throw new MillraceError(
      'filter-too-expensive',
      `The filters of a connection may cost at most ${MOST_COST.toLocaleString('en')} together`,
      { hint: 'Use fewer or shorter strings and patterns, or end other subscriptions' },
    );
  }

  #make(request: SubscriptionRequest, principal: RequestPrincipal): AnySubscription {
    const { id } = request;
    const { deps, queue } = this;
    const common = {
      id,
      queue,
      deps,
      principal,
      onEnd: () => this.subscriptions.delete(id),
      onTooSlow: () => this.close(CLOSE_CODES.tooSlow, 'Too slow'),
    } as const;
    if (request.kind === 'events') return new EventSubscription({ ...common, request });
    const collection = parseCollectionName(request.collection);
    const requested = toSubscriptionQuery(parseQueryJson(request.query), hasSort(request.query), new Date());
    return new CollectionSubscription({ ...common, collection, requested });
  }

  #unsubscribe(id: string): void {
    const subscription = this.subscriptions.get(id);
    if (subscription === undefined) {
      const issue = new MillraceError('subscription-not-found', `There is no subscription '${id}'`);
      this.#refuse(new BadMessage(issue, id));
      return;
    }
    subscription.stop();
    this.subscriptions.delete(id);
    this.queue.push(encodeMessage(id, 'unsubscribed', {}));
  }

  #refuse({ issue, id, subscribes }: BadMessage): void {
    const problem = problemFields(issue);
    if (subscribes && id !== null && !this.subscriptions.has(id)) {
      this.queue.push(encodeMessage(id, 'unsubscribed', { problem, retryable: ERRORS[issue.code].retryable }));
    } else this.queue.push(encodeMessage(id ?? undefined, 'error', { problem }));
  }

  protected checkTimeouts(now: number): void {
    if (this.principal !== null || now - this.#openedAt < this.deps.timing.helloMs) return;
    this.close(CLOSE_CODES.noHello, 'No hello message arrived');
  }

  protected report(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.queue.push(encodeMessage(undefined, type, fields));
  }

  protected closeConnection(code: CloseCode, reason: string, retryAfterMs: number | null): void {
    if (retryAfterMs !== null) this.report('bye', { code, retryAfterMs });
    this.queue.flush();
    this.queue.close();
    this.#socket.close(code, reason);
    // A client that does not respond to the close frame is disconnected. The socket itself would wait half a minute.
    pause(BYE_MS * 40, undefined, { ref: false }).then(() => this.#socket.terminate());
  }
}

const again = (): MillraceError =>
  new MillraceError('malformed-request', "'hello' was already sent", { hint: 'Send a newer token with authenticate' });

function hasSort(query: unknown): boolean {
  return typeof query === 'object' && query !== null && Object.hasOwn(query, 'sort');
}
