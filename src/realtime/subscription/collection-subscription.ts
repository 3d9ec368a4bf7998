/**
 * A subscription to the documents of a collection. It starts with a snapshot, or with the rows that its client missed,
 * and restarts when its result becomes invalid.
 */
import type { Timestamp } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { decodeDocumentCooperatively } from '../../database/bson/stored-document.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { formatPosition, type LogPosition } from '../../events/log/position.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../../lib/errors.ts';
import { filterCost } from '../../query/evaluate/filter-cost.ts';
import { and } from '../../query/filter.ts';
import { type FilterIndexKey, indexKeyOfFilter } from '../hub/filter-index-key.ts';
import { queueMessages } from '../hub/subscription-group.ts';
import { LiveQuery } from '../result/live-query.ts';
import { dependsOnTime, type LiveQuerySpec, type RequestedQuery, toLiveQuerySpec } from '../result/live-query-spec.ts';
import type { RowEffect } from '../result/live-result-interface.ts';
import type { LogRowView } from '../result/log-row-view.ts';
import type { WindowMember } from '../result/query-window.ts';
import type { SnapshotRead } from '../result/snapshot-reader.ts';
import { toWindowMember } from '../result/window-member.ts';
import { RESTART_POSITION } from '../wire/protocol.ts';
import type { SubscriptionMessage } from '../wire/shared-message.ts';
import { checkResume, type ResumeResult, readBacklogRow } from './resume-check.ts';
import { memoryCountedBatches, sendSnapshot } from './snapshot-sender.ts';
import { Subscription, type SubscriptionOptions } from './subscription.ts';

/** Bytes of the documents of a window that are sent again in one turn; a larger window restarts, in parts. */
const AGAIN_BYTES = 1024 * 1024;

export interface CollectionSubscriptionOptions extends SubscriptionOptions {
  readonly collection: CollectionName;
  readonly requested: RequestedQuery;
  readonly principal: Principal;
}

export class CollectionSubscription extends Subscription {
  readonly #collection: CollectionName;
  readonly #requested: RequestedQuery;
  #principal: Principal;
  #query: LiveQuerySpec;
  readonly cost: number;
  readonly collections: readonly string[];

  /** @throws MillraceError `not-authenticated`, `forbidden`, `field-hidden` */
  constructor(options: CollectionSubscriptionOptions) {
    super(options);
    this.#collection = options.collection;
    this.#requested = options.requested;
    this.#principal = options.principal;
    this.cost = filterCost(options.requested.query.filter);
    this.collections = [options.collection];
    const { policies } = this.deps;
    const { principal, collection, requested } = options;
    const scope = policies.findLive(principal, collection) ?? policies.scope(principal, 'read', collection);
    this.#query = toLiveQuerySpec(collection, requested, scope);
  }

  get principal(): Principal {
    return this.#principal;
  }

  /** When its Scope ends because a policy contains a time; milliseconds since 1970, or null. */
  get scopeUntil(): number | null {
    return this.#query.scope.until;
  }

  /** Gets a new Scope from the policies, for the same principal or the one that replaced it. */
  rescope(principal: Principal): void {
    if (this.ended) return;
    this.#principal = principal;
    try {
      const scope = this.deps.policies.findLive(principal, this.#collection);
      if (scope === null) {
        throw new MillraceError('policy-revoked', `Reading '${this.#collection}' is no longer allowed`);
      }
      const [old, query] = [this.#query, toLiveQuerySpec(this.#collection, this.#requested, scope)];
      this.#query = query;
      if (query.key !== old.key) this.#change(old);
    } catch (error) {
      this.end(error);
    }
  }

  /** Sends the effect of the new Scope on a live result. A result that is not live yet restarts. */
  #change(old: LiveQuerySpec): void {
    if (!this.isLive) {
      this.reset('policy-changed');
      return;
    }
    const mark = this.step();
    // A snapshot that is ahead of the log keeps its own cluster time.
    if (mark.time !== null && this.until?.lessThanOrEqual(mark.time)) this.until = null;
    const moment = this.until ?? (this.after === mark.number ? mark.time : null);
    this.launch(async (run) => {
      const logCursor = { position: formatPosition(mark), moment, now: new Date() };
      const difference = await this.deps.scopeDifferences.difference(
        old,
        this.#query,
        logCursor,
        this.queue.account.key,
      );
      if (run.aborted) return;
      if (difference === null) {
        this.reset('policy-changed');
        return;
      }
      queueMessages(this, difference.reported);
      const live = this.#live(run);
      live.fill(difference.members);
      await this.follow(run, live, this.#indexKey(), false);
    });
  }

  protected async begin(run: AbortSignal, since: string | null): Promise<void> {
    if (since !== null) {
      const followable = this.#query.limit === null ? this.deps.store.requireFollowable(this.#collection) : null;
      const [verdict] = await Promise.all([this.#judgeReturn(since), followable]);
      if (run.aborted) return;
      const cause = 'position' in verdict ? await this.#causeAt(verdict.position) : null;
      if (run.aborted) return;
      const again: SubscriptionMessage[] = [];
      const resumed = 'position' in verdict && (() => this.#resumed(run, verdict, cause, again));
      const live = resumed ? await this.queue.paced(resumed) : null;
      if (run.aborted) return;
      if ('position' in verdict && live !== null) {
        this.sendMessage('subscribed', { from: 'resume' }, formatPosition(verdict.position));
        queueMessages(this, again);
        return await this.follow(run, live, this.#indexKey(), true);
      }
      this.sendMessage('reset', { reason: 'reason' in verdict ? verdict.reason : 'window' }, RESTART_POSITION);
    }
    await this.#snapshot(run);
  }

  /** Whether its client can continue from a position: not if its rights may have changed without a message about it. */
  async #judgeReturn(since: string): Promise<ResumeResult> {
    const anew = { reason: 'policy-changed' } as const;
    if (dependsOnTime(this.#requested, this.#query.scope)) return anew;
    const verdict = await this.#missed(since);
    const isUnsure = 'position' in verdict && (await this.deps.rights.mayBeOutdated(verdict.position, this.#principal));
    return isUnsure ? anew : verdict;
  }

  protected async resumeLive(run: AbortSignal): Promise<void> {
    const { hub } = this.deps;
    if (this.#query.limit === null) {
      return await this.follow(run, this.#live(run), this.#indexKey(), false);
    }
    await this.queue.ready(run);
    if (run.aborted) return;
    const verdict = await this.#missed(formatPosition({ epoch: hub.position.epoch, number: this.after }));
    const resumed = !run.aborted && 'position' in verdict && (() => this.#resumed(run, verdict));
    const live = resumed ? await this.queue.paced(resumed) : null;
    if (run.aborted) return;
    if (live === null) return this.reset('reason' in verdict ? verdict.reason : 'window');
    await this.follow(run, live, this.#indexKey(), false);
  }

  protected tooSlow(): void {
    this.reset('lagging');
  }

  #missed(since: string): Promise<ResumeResult> {
    const query = this.#query;
    const live = new LiveQuery({ ...query, limit: null }, this.deps.store, this.queue.account);
    const touches = (view: LogRowView): RowEffect | 'window' => {
      if (view.row.collection === query.collection && view.row.big) return 'window';
      const { before, after } = view;
      const verdict = live.applyRow(view);
      if (typeof verdict === 'string' || view.row.collection !== query.collection) return verdict;
      const is = [before, after].some((state) => state !== null && view.passes(query.match, state));
      return is ? 'window' : verdict;
    };
    return checkResume(this.deps, since, {
      collections: this.collections,
      principal: this.#principal,
      whose: this.queue.account.key,
      live,
      judge: query.limit === null ? (view) => live.applyRow(view) : touches,
    });
  }

  /**
   * The row at a position, if it affected the window. Such a row may take several frames. The client knows the position
   * from the first of them, and its connection may have ended before the others arrived.
   */
  async #causeAt({ number }: LogPosition): Promise<LogRowView | null> {
    const query = this.#query;
    const view =
      query.limit === null
        ? null
        : await readBacklogRow(this.deps.backlog, number, {
            collections: this.collections,
            whose: this.queue.account.key,
          });
    if (view?.row.collection !== query.collection) return null;
    return [view.before, view.after].some((state) => state !== null && query.match(state)) ? view : null;
  }

  /**
   * The result with which the subscription continues. A window has to read its entries first. Null if it cannot.
   * @param cause the row of which the client may have only some frames: the whole window is put into `again`
   */
  async #resumed(
    run: AbortSignal,
    { position, through }: Exclude<ResumeResult, { reason: unknown }>,
    cause: LogRowView | null = null,
    again: SubscriptionMessage[] = [],
  ): Promise<LiveQuery | null> {
    const live = this.#live(run);
    this.until = null;
    this.absent = null;
    this.after = position.number;
    if (live.window === null) return live;
    if (through.time === null) return null;
    const read = await this.#open(live, through.time);
    const members: WindowMember[] = [];
    let bytes = 0;
    try {
      if (read.time === null || !read.time.equals(through.time)) return null;
      for await (const batch of memoryCountedBatches(read, this.queue.account, this.deps.slots)) {
        await mapCooperatively(batch, async (raw) => {
          const document = await decodeDocumentCooperatively(raw);
          const member = toWindowMember(document, live.query);
          live.reserve(member);
          members.push(member);
          const isShown = members.length <= (live.query.limit ?? 0);
          if (cause === null || !isShown || bytes > AGAIN_BYTES) return;
          const reported = await live.entering(document, raw, cause);
          bytes += reported.bytes;
          again.push(reported);
        });
        if (run.aborted || bytes > AGAIN_BYTES) return null;
      }
    } finally {
      await read.close();
    }
    live.fill(members);
    this.after = through.number;
    return live;
  }

  #live(run: AbortSignal): LiveQuery {
    return this.own(run, new LiveQuery(this.#query, this.deps.store, this.queue.account));
  }

  #open(live: LiveQuery, at: Parameters<typeof this.deps.store.open>[1]): Promise<SnapshotRead> {
    return this.deps.slots.run(this.queue.account.key, () => this.deps.store.open(live.query, at, live.capacity));
  }

  async #snapshot(run: AbortSignal): Promise<void> {
    const live = this.#live(run);
    const { id, queue, deps, resetAt } = this;
    const onBegin = (mark: LogPosition, time: Timestamp | null) => this.#beginWith(mark, time);
    await queue.paced(() => sendSnapshot({ id, queue, deps, onBegin }, run, live, resetAt));
    if (!run.aborted) await this.follow(run, live, this.#indexKey(), true);
  }

  /** @param time the cluster time of the snapshot; null if the collection does not exist */
  #beginWith(mark: LogPosition, time: Timestamp | null): void {
    this.after = mark.number;
    // Changes that the snapshot already contains are not sent again, though they come after its position.
    this.until = time;
    this.absent = time === null ? this.#collection : null;
    this.sendMessage('subscribed', { from: 'snapshot' }, null);
  }

  #indexKey(): FilterIndexKey | null {
    const { scope, filter } = this.#query;
    const [grant] = scope.grants;
    return indexKeyOfFilter(scope.grants.length === 1 && grant !== undefined ? and([filter, grant.filter]) : filter);
  }
}
