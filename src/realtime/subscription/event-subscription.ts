/**
 * A subscription to events. It starts now, or after a position with the events that its client missed. There is no
 * snapshot of events: if it cannot continue from the position, it sends a reset and starts now.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { formatPosition } from '../../events/log/position.ts';
import { readableEventCollections } from '../../events/read/event-access.ts';
import { MillraceError } from '../../lib/errors.ts';
import { principalBindings, principalCacheKey } from '../../policies/bindings.ts';
import { bindVariables } from '../../query/evaluate/bind-variables.ts';
import { filterCost, requireAffordableFilter } from '../../query/evaluate/filter-cost.ts';
import type { Filter, UnboundFilter } from '../../query/filter.ts';
import { QUERY_LIMITS } from '../../query/limits.ts';
import { SORT_BY_ID } from '../../query/page/sort.ts';
import { parseFilterJson } from '../../query/parse/parse-filter-json.ts';
import { queryFingerprint } from '../../query/parse/query.ts';
import { LiveEvents } from '../result/event-subscription-result.ts';
import type { EventSubscriptionRequest, ResetReason } from '../wire/protocol.ts';
import { checkResume } from './resume-check.ts';
import { Subscription, type SubscriptionOptions } from './subscription.ts';

export interface EventSubscriptionOptions extends SubscriptionOptions {
  readonly request: EventSubscriptionRequest;
  readonly principal: Principal;
}

export class EventSubscription extends Subscription {
  readonly #types: readonly string[];
  readonly #requested: UnboundFilter;
  /** The time that `$now` means. */
  readonly #now = new Date();
  #principal: Principal;
  /** The requested filter, with the principal's values for its variables. */
  #filter: Filter;
  /** The position to continue from, and whether `subscribed` has been sent. */
  #since: string | null = null;
  #begun = false;
  readonly cost: number;
  collections: readonly string[] | null;

  /** @throws MillraceError `invalid-filter`, `filter-too-expensive`, `not-authenticated`, `forbidden` */
  constructor(options: EventSubscriptionOptions) {
    super(options);
    const { request, principal } = options;
    this.#types = request.types;
    this.#requested = requireAffordableFilter(parseFilterJson(request.filter), QUERY_LIMITS.liveCost);
    this.cost = filterCost(this.#requested);
    this.#principal = principal;
    this.collections = this.#hearable();
    this.#filter = this.#bound();
  }

  get principal(): Principal {
    return this.#principal;
  }

  /** Null: policies are applied to each event when it comes. */
  readonly scopeUntil = null;

  /** Applies changed policies to later events. Events that were sent stay correct. */
  rescope(principal: Principal): void {
    if (this.ended) return;
    this.#principal = principal;
    try {
      this.collections = this.#hearable();
    } catch {
      this.end(new MillraceError('policy-revoked', 'Reading these events is no longer allowed'));
      return;
    }
    try {
      this.#filter = this.#bound();
    } catch (error) {
      this.end(error);
      return;
    }
    if (this.isLive) this.step();
    this.launch((run) => (this.#begun ? this.resumeLive(run) : this.begin(run, this.#since)));
  }

  override reset(reason: ResetReason): void {
    this.#begun = false;
    this.#since = null;
    super.reset(reason);
  }

  protected async begin(run: AbortSignal, since: string | null): Promise<void> {
    const { hub } = this.deps;
    this.after = hub.taken;
    this.#since = since;
    if (since === null) {
      this.#begun = true;
      this.sendMessage(
        'subscribed',
        { from: 'now' },
        formatPosition({ epoch: hub.position.epoch, number: this.after }),
      );
      return await this.follow(run, this.#live(), null, true);
    }
    const live = this.#live();
    const verdict = await checkResume(this.deps, since, {
      collections: this.collections,
      principal: this.#principal,
      whose: this.queue.account.key,
      judge: (view) => live.applyRow(view),
      live,
    });
    if (run.aborted) return;
    if ('reason' in verdict) {
      this.sendMessage('reset', { reason: verdict.reason });
      return await this.begin(run, null);
    }
    this.after = verdict.position.number;
    this.#begun = true;
    this.sendMessage('subscribed', { from: 'resume' }, formatPosition(verdict.position));
    await this.follow(run, this.#live(), null, true);
  }

  protected async resumeLive(run: AbortSignal): Promise<void> {
    await this.follow(run, this.#live(), null, this.deliveredPosition === null);
  }

  protected tooSlow(): void {
    this.options.onTooSlow();
  }

  #live(): LiveEvents {
    const { policies, policyVersion } = this.deps;
    const principal = this.#principal;
    const filter = queryFingerprint('', { filter: this.#filter, sort: SORT_BY_ID, fields: null });
    const key = `events ${JSON.stringify(this.#types)} ${filter} ${policyVersion} ${principalCacheKey(principal)}`;
    return new LiveEvents({ types: this.#types, filter: this.#filter, principal, key }, policies, this.queue.account);
  }

  #bound(): Filter {
    return bindVariables(this.#requested, principalBindings(this.#principal, this.#now)).filter;
  }

  #hearable(): readonly string[] | null {
    return readableEventCollections(this.deps.policies, this.#principal, this.#types, true);
  }
}
