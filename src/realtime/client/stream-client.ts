/**
 * One subscription over Server-Sent Events (HTML standard, "Server-sent events"): the same messages as on a socket,
 * sent as events of a response that does not end. Not here: reading the request and its limits (stream-route.ts).
 */
import { isDeepStrictEqual } from 'node:util';
import type { ClientPrincipal } from '../../auth/identity/principal.ts';
import type { Whom } from '../../auth/identity/whom.ts';
import type { CollectionName } from '../../database/names.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { problemMembers } from '../../kernel/problem.ts';
import type { RequestedQuestion } from '../answer/live-question.ts';
import { DocumentSubscription } from '../subscription/document-subscription.ts';
import type { RealtimeParts } from '../subscription/realtime-parts.ts';
import { toBytes } from '../wire/messages.ts';
import { CLOSE, type CloseCode } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import { Client } from './client.ts';

export interface StreamClientOptions {
  readonly principal: ClientPrincipal;
  /** As whom an owner opened it; null as itself. */
  readonly seen: { readonly whom: Whom; readonly principal: ClientPrincipal } | null;
  /** The Authorization header; null for a ticket and for anonymous. */
  readonly credential: string | null;
  readonly collection: CollectionName;
  readonly asked: RequestedQuestion;
  readonly since: string | null;
  /** The memory that its subscription takes; the caller has checked that there is room. */
  readonly bytes: number;
  /** Ends the response. */
  readonly end: () => void;
}

export class StreamClient extends Client {
  protected readonly answers = false;
  readonly #options: StreamClientOptions;
  protected readonly credential: string | null;

  /** @throws MillraceError `field-hidden` and the errors of policies */
  constructor(parts: RealtimeParts, queue: SendQueue, options: StreamClientOptions) {
    super(parts, queue);
    this.#options = options;
    this.credential = options.credential;
    this.principal = options.principal;
    const { collection, asked, seen } = options;
    const subscription = new DocumentSubscription({
      id: null,
      queue,
      parts,
      principal: seen?.principal ?? options.principal,
      collection,
      asked,
      onEnd: () => this.#finish(),
      onTooSlow: () => this.close(CLOSE.tooSlow, 'Too slow'),
    });
    this.subscriptions.set('', subscription);
    if (seen !== null) this.views.add(subscription, seen.whom, seen.principal);
    this.noteScopes();
  }

  start(): void {
    this.subscriptions.get('')?.start(this.#options.since, this.#options.bytes);
    this.#confirm().catch((error: unknown) => this.notRenewed(error));
  }

  /** Authenticates once more: this client was not told of a revocation between the authentication and now. */
  async #confirm(): Promise<void> {
    const { principal } = this.#options;
    const subscription = this.subscriptions.get('');
    if (subscription !== undefined) await this.views.renew(subscription, principal);
    if (principal.kind === 'anonymous') return;
    const now = await this.renewed(principal);
    if (!this.closed && this.principal === principal && !isDeepStrictEqual(now, principal)) this.become(now);
  }

  protected look(): void {}

  protected tell(type: string, members: Readonly<Record<string, unknown>>, position: string | null): void {
    this.queue.push(toBytes(null, type, members, position));
  }

  protected shut(code: CloseCode, reason: string, retryAfterMs: number | null): void {
    if (retryAfterMs === null) {
      // Of the codes that end a line for good, only this one occurs: a stream's client sends nothing that could be
      // wrong.
      const problem = problemMembers(new MillraceError('not-authenticated', reason));
      this.tell('unsubscribed', { problem, retryable: false }, null);
    } else {
      this.queue.push(Buffer.from(`retry: ${retryAfterMs}\n\n`));
      this.tell('bye', { code, retryAfterMs }, null);
    }
    this.#finish();
  }

  /** Ends the response after the last message. */
  #finish(): void {
    this.queue.flush();
    this.gone();
    this.#options.end();
  }
}
