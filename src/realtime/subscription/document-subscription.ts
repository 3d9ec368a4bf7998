/**
 * A subscription to the documents of a collection. It begins with a snapshot, or with the rows that its client missed.
 * It begins anew when its answer is void. Not here: how the answer is kept up to date (answer/live-query.ts).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { readInTurns } from '../../database/bson/stored.ts';
import type { CollectionName } from '../../database/names.ts';
import { formatPosition, type LogPosition } from '../../events/log/position.ts';
import { mapInTurns } from '../../kernel/concurrency/pauses.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { costOf } from '../../query/evaluate/cost.ts';
import { and } from '../../query/filter.ts';
import type { Judgement } from '../answer/live-answer.ts';
import { LiveQuery } from '../answer/live-query.ts';
import { type LiveQuestion, moves, type RequestedQuestion, toLiveQuestion } from '../answer/live-question.ts';
import type { RowView } from '../answer/row-view.ts';
import type { SnapshotRead } from '../answer/snapshot-store.ts';
import type { WindowMember } from '../answer/window.ts';
import { toMember } from '../answer/window-member.ts';
import { tell } from '../hub/group.ts';
import { type IndexKey, indexKeyOfFilter } from '../hub/index-key.ts';
import { NOWHERE } from '../wire/protocol.ts';
import type { Told } from '../wire/shared-message.ts';
import { checkResume, type ResumeVerdict, rowAt } from './resume-check.ts';
import { heldBatches, sendSnapshot } from './snapshot-sender.ts';
import { Subscription, type SubscriptionOptions } from './subscription.ts';

const MOST_DOCUMENTS = 10_000;
/** Bytes of the documents of a window that are sent again in one turn; a larger window begins anew, in parts. */
const AGAIN_BYTES = 1024 * 1024;

export interface DocumentOptions extends SubscriptionOptions {
  readonly collection: CollectionName;
  readonly asked: RequestedQuestion;
  readonly principal: Principal;
}

export class DocumentSubscription extends Subscription {
  readonly #collection: CollectionName;
  readonly #asked: RequestedQuestion;
  #principal: Principal;
  #question: LiveQuestion;
  readonly cost: number;
  readonly collections: readonly string[];

  /** @throws MillraceError `not-authenticated`, `forbidden`, `field-hidden` */
  constructor(options: DocumentOptions) {
    super(options);
    this.#collection = options.collection;
    this.#asked = options.asked;
    this.#principal = options.principal;
    this.cost = costOf(options.asked.query.filter);
    this.collections = [options.collection];
    const { policies } = this.parts;
    const { principal, collection, asked } = options;
    const scope = policies.findLive(principal, collection) ?? policies.scope(principal, 'read', collection);
    this.#question = toLiveQuestion(collection, asked, scope);
  }

  get principal(): Principal {
    return this.#principal;
  }

  /** When its Scope ends because a policy names the time; milliseconds since 1970, or null. */
  get scopeUntil(): number | null {
    return this.#question.scope.until;
  }

  /** Gets a new Scope from the policies, for the same principal or the one that took its place. */
  rescope(principal: Principal): void {
    if (this.ended) return;
    this.#principal = principal;
    try {
      const scope = this.parts.policies.findLive(principal, this.#collection);
      if (scope === null) {
        throw new MillraceError('policy-revoked', `Reading '${this.#collection}' is no longer allowed`);
      }
      const [old, question] = [this.#question, toLiveQuestion(this.#collection, this.#asked, scope)];
      this.#question = question;
      if (question.key !== old.key) this.#change(old);
    } catch (error) {
      this.end(error);
    }
  }

  /** Sends what the new Scope changes in a live answer. An answer that is not live yet begins anew. */
  #change(old: LiveQuestion): void {
    if (!this.isLive) {
      this.reset('policy-changed');
      return;
    }
    const mark = this.step();
    // A snapshot that is ahead of the log keeps its own cluster time.
    if (mark.time !== null && this.until?.lessThanOrEqual(mark.time)) this.until = null;
    const moment = this.until ?? (this.after === mark.number ? mark.time : null);
    this.launch(async (run) => {
      const stand = { position: formatPosition(mark), moment, now: new Date() };
      const difference = await this.parts.rescoping.difference(old, this.#question, stand, this.queue.account.key);
      if (run.aborted) return;
      if (difference === null) {
        this.reset('policy-changed');
        return;
      }
      tell(this, difference.told);
      const live = this.#live(run);
      live.fill(difference.members);
      await this.follow(run, live, this.#indexKey(), false);
    });
  }

  protected async begin(run: AbortSignal, since: string | null): Promise<void> {
    if (since !== null) {
      const followable = this.#question.limit === null ? this.parts.store.requireFollowable(this.#collection) : null;
      const [verdict] = await Promise.all([this.#judgeReturn(since), followable]);
      if (run.aborted) return;
      const cause = 'place' in verdict ? await this.#causeAt(verdict.place) : null;
      if (run.aborted) return;
      const again: Told[] = [];
      const resumed = 'place' in verdict && (() => this.#resumed(run, verdict, cause, again));
      const live = resumed ? await this.queue.paced(resumed) : null;
      if (run.aborted) return;
      if ('place' in verdict && live !== null) {
        this.say('subscribed', { from: 'resume' }, formatPosition(verdict.place));
        tell(this, again);
        return await this.follow(run, live, this.#indexKey(), true);
      }
      this.say('reset', { reason: 'reason' in verdict ? verdict.reason : 'window' }, NOWHERE);
    }
    await this.#snapshot(run);
  }

  /** Whether its client can go on from a position: not if its rights may have changed without its having been told. */
  async #judgeReturn(since: string): Promise<ResumeVerdict> {
    const anew = { reason: 'policy-changed' } as const;
    if (moves(this.#asked, this.#question.scope)) return anew;
    const verdict = await this.#missed(since);
    const isUnsure = 'place' in verdict && (await this.parts.rights.unsureAt(verdict.place, this.#principal));
    return isUnsure ? anew : verdict;
  }

  protected async goOn(run: AbortSignal): Promise<void> {
    const { hub } = this.parts;
    if (this.#question.limit === null) {
      return await this.follow(run, this.#live(run), this.#indexKey(), false);
    }
    await this.queue.ready(run);
    if (run.aborted) return;
    const verdict = await this.#missed(formatPosition({ epoch: hub.position.epoch, number: this.after }));
    const resumed = !run.aborted && 'place' in verdict && (() => this.#resumed(run, verdict));
    const live = resumed ? await this.queue.paced(resumed) : null;
    if (run.aborted) return;
    if (live === null) return this.reset('reason' in verdict ? verdict.reason : 'window');
    await this.follow(run, live, this.#indexKey(), false);
  }

  protected tooSlow(): void {
    this.reset('lagging');
  }

  #missed(since: string): Promise<ResumeVerdict> {
    const question = this.#question;
    const live = new LiveQuery({ ...question, limit: null }, this.parts.store, this.queue.account);
    const touches = (view: RowView): Judgement | 'window' => {
      if (view.row.collection === question.collection && view.row.big) return 'window';
      const { before, after } = view;
      const judgement = live.judge(view);
      if (typeof judgement === 'string' || view.row.collection !== question.collection) return judgement;
      const is = [before, after].some((state) => state !== null && view.passes(question.match, state));
      return is ? 'window' : judgement;
    };
    return checkResume(this.parts, since, {
      collections: this.collections,
      principal: this.#principal,
      whose: this.queue.account.key,
      live,
      judge: question.limit === null ? (view) => live.judge(view) : touches,
    });
  }

  /**
   * The row at a position, when it concerned the window. Such a row may take several frames. The client knows the
   * position from the first of them, and its connection may have ended before the others arrived.
   */
  async #causeAt({ number }: LogPosition): Promise<RowView | null> {
    const question = this.#question;
    const view =
      question.limit === null
        ? null
        : await rowAt(this.parts.backlog, number, { collections: this.collections, whose: this.queue.account.key });
    if (view?.row.collection !== question.collection) return null;
    return [view.before, view.after].some((state) => state !== null && question.match(state)) ? view : null;
  }

  /**
   * The answer with which the subscription goes on. A window has to read its members first. Null when it cannot.
   * @param cause the row of which the client may have only some frames: the whole window is put into `again`
   */
  async #resumed(
    run: AbortSignal,
    { place, through }: Exclude<ResumeVerdict, { reason: unknown }>,
    cause: RowView | null = null,
    again: Told[] = [],
  ): Promise<LiveQuery | null> {
    const live = this.#live(run);
    this.until = null;
    this.absent = null;
    this.after = place.number;
    if (live.window === null) return live;
    if (through.time === null) return null;
    const read = await this.#open(live, through.time);
    const members: WindowMember[] = [];
    let bytes = 0;
    try {
      if (read.time === null || !read.time.equals(through.time)) return null;
      for await (const batch of heldBatches(read, this.queue.account)) {
        await mapInTurns(batch, async (raw) => {
          const document = await readInTurns(raw);
          const member = toMember(document, live.question);
          live.reserve(member);
          members.push(member);
          const isShown = members.length <= (live.question.limit ?? 0);
          if (cause === null || !isShown || bytes > AGAIN_BYTES) return;
          const told = await live.entering(document, raw, cause);
          bytes += told.bytes;
          again.push(told);
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
    return this.own(run, new LiveQuery(this.#question, this.parts.store, this.queue.account));
  }

  #open(live: LiveQuery, at: Parameters<typeof this.parts.store.open>[1]): Promise<SnapshotRead> {
    return this.parts.slots.run(this.queue.account.key, () => this.parts.store.open(live.question, at, live.capacity));
  }

  async #snapshot(run: AbortSignal): Promise<void> {
    const live = this.#live(run);
    await this.queue.paced(() => this.#read(run, live));
    if (!run.aborted) await this.follow(run, live, this.#indexKey(), true);
  }

  async #read(run: AbortSignal, live: LiveQuery): Promise<void> {
    if (!this.queue.isReady) await this.queue.ready(run);
    if (run.aborted) return;
    const mark = this.parts.hub.newest;
    const read = await this.#open(live, null);
    try {
      if (run.aborted) return;
      if (read.more && live.window === null) await this.#refuseTooLarge();
      if (run.aborted) return;
      this.after = mark.number;
      // Changes that the snapshot already holds are not sent again, though they come after its position.
      this.until = read.time;
      this.absent = read.time === null ? this.#collection : null;
      this.say('subscribed', { from: 'snapshot' }, null);
      await sendSnapshot(this, run, { live, read, position: formatPosition(mark), turnstile: this.parts.turnstile });
    } finally {
      await read.close();
    }
  }

  async #refuseTooLarge(): Promise<void> {
    if ((await this.parts.store.count(this.#question, MOST_DOCUMENTS + 1)) <= MOST_DOCUMENTS) return;
    throw new MillraceError('too-large', `More than ${MOST_DOCUMENTS.toLocaleString('en')} documents match`, {
      hint: 'Give the query a limit, or a narrower filter',
    });
  }

  #indexKey(): IndexKey | null {
    const { scope, filter } = this.#question;
    const [grant] = scope.grants;
    return indexKeyOfFilter(scope.grants.length === 1 && grant !== undefined ? and([filter, grant.filter]) : filter);
  }
}
