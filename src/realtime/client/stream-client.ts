/**
 * One subscription over Server-Sent Events (HTML standard, "Server-sent events"): the messages of a socket, as events
 * of a response that does not end.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ImpersonationTarget } from '../../auth/identity/parse-impersonation-target.ts';
import type { RequestPrincipal } from '../../auth/identity/principal.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { MillraceError } from '../../lib/errors.ts';
import { problemFields } from '../../lib/problem.ts';
import type { RequestedQuery } from '../result/live-query-spec.ts';
import { CollectionSubscription } from '../subscription/collection-subscription.ts';
import type { RealtimeDeps } from '../subscription/realtime-deps.ts';
import { encodeMessage } from '../wire/encode-message.ts';
import { CLOSE_CODES, type CloseCode } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import { RealtimeClient } from './realtime-client.ts';

export interface StreamClientOptions {
  readonly principal: RequestPrincipal;
  /** The principal that an administrator impersonates; null for none. */
  readonly seen: { readonly target: ImpersonationTarget; readonly principal: RequestPrincipal } | null;
  /** The Authorization header; null for a ticket or an anonymous client. */
  readonly credential: string | null;
  readonly collection: CollectionName;
  readonly requested: RequestedQuery;
  readonly since: string | null;
  /** The memory of its subscription; the caller has checked that there is room. */
  readonly bytes: number;
  /** Ends the response. */
  readonly end: () => void;
}

export class StreamClient extends RealtimeClient {
  protected readonly answersHeartbeats = false;
  readonly #options: StreamClientOptions;
  protected readonly credential: string | null;

  /** @throws MillraceError `field-hidden` and the errors of policies */
  constructor(deps: RealtimeDeps, queue: SendQueue, options: StreamClientOptions) {
    super(deps, queue);
    this.#options = options;
    this.credential = options.credential;
    this.principal = options.principal;
    const { collection, requested, seen } = options;
    const subscription = new CollectionSubscription({
      id: null,
      queue,
      deps,
      principal: seen?.principal ?? options.principal,
      collection,
      requested,
      onEnd: () => this.#finish(),
      onTooSlow: () => this.close(CLOSE_CODES.tooSlow, 'Too slow'),
    });
    this.subscriptions.set('', subscription);
    if (seen !== null) this.impersonatedSubscriptions.add(subscription, seen.target, seen.principal);
    this.scheduleRescope();
  }

  start(): void {
    this.subscriptions.get('')?.start(this.#options.since, this.#options.bytes);
    this.#confirm().catch((error: unknown) => this.handleRenewalFailure(error));
  }

  /** Authenticates again: this client did not receive a revocation between authentication and now. */
  async #confirm(): Promise<void> {
    const { principal } = this.#options;
    const subscription = this.subscriptions.get('');
    if (subscription !== undefined) await this.impersonatedSubscriptions.renew(subscription, principal);
    if (principal.kind === 'anonymous') return;
    const now = await this.renewPrincipal(principal);
    if (!this.closed && this.principal === principal && !isDeepStrictEqual(now, principal)) this.switchPrincipal(now);
  }

  protected checkTimeouts(): void {}

  protected report(type: string, fields: Readonly<Record<string, unknown>>, position: string | null): void {
    this.queue.push(encodeMessage(null, type, fields, position));
  }

  protected closeConnection(code: CloseCode, reason: string, retryAfterMs: number | null): void {
    if (retryAfterMs === null) {
      // Of the final close codes, only this one occurs: a stream's client sends nothing that could be invalid.
      const problem = problemFields(new MillraceError('not-authenticated', reason));
      this.report('unsubscribed', { problem, retryable: false }, null);
    } else {
      this.queue.push(Buffer.from(`retry: ${retryAfterMs}\n\n`));
      this.report('bye', { code, retryAfterMs }, null);
    }
    this.#finish();
  }

  /** Ends the response after the last message. */
  #finish(): void {
    this.queue.flush();
    this.handleDisconnect();
    this.#options.end();
  }
}
