/**
 * What all subscriptions have in common. A subscription reads the log by itself until it has caught up, then joins a
 * group. It leaves the group when its client is too slow, and reads on from the log when the client can take more. If
 * that takes longer than `lagMs` (realtime-parts.ts), a live answer begins anew, and for live events the
 * connection is closed. Not here: how an answer begins (document-subscription.ts, event-subscription.ts).
 */
import type { Timestamp } from 'mongodb';
import { translateError } from '../../database/errors.ts';
import { formatPosition } from '../../events/log/position.ts';
import type { LogRow } from '../../events/log/row.ts';
import { ERRORS, MillraceError } from '../../kernel/errors.ts';
import { problemMembers } from '../../kernel/problem.ts';
import type { Lane } from '../../query/evaluate/turnstile.ts';
import { type LiveAnswer, readyFor } from '../answer/live-answer.ts';
import { RowView } from '../answer/row-view.ts';
import { Dropped, voidBy } from '../answer/snapshot-store.ts';
import { type Group, type GroupMember, knows } from '../hub/group.ts';
import type { LogMoment } from '../hub/hub.ts';
import type { IndexKey } from '../hub/index-key.ts';
import { tellAlone } from '../hub/transaction-frame.ts';
import { toBytes } from '../wire/messages.ts';
import { NOWHERE, type ResetReason } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { Told } from '../wire/shared-message.ts';
import { Overtaken, type Stretch } from './backlog.ts';
import { bytesOf, Holdings } from './holdings.ts';
import type { RealtimeParts } from './realtime-parts.ts';

/** The least time between two resets of one subscription. */
const RESET_PAUSE_MS = 500;
/** How long to wait for the log after a snapshot. Usually it takes milliseconds; on a quiet database no row comes. */
const AHEAD_MS = 100;

export interface SubscriptionOptions {
  readonly id: string | null;
  readonly queue: SendQueue;
  readonly parts: RealtimeParts;
  /** Called when it has ended by itself. */
  readonly onEnd: () => void;
  /** Called when it is late for too long and cannot begin anew. */
  readonly onTooSlow: () => void;
}

export abstract class Subscription implements GroupMember {
  readonly id: string | null;
  readonly queue: SendQueue;
  protected readonly parts: RealtimeParts;
  protected readonly options: SubscriptionOptions;
  after = 0;
  until: Timestamp | null = null;
  absent: string | null = null;
  /** Since when it has been out of its group because its client is slow; monotonic milliseconds. */
  protected behindSince: number | null = null;
  #group: Group | null = null;
  #run = new AbortController();
  #turn = 0;
  #resetAt = 0;
  #ended = false;
  #announced = false;
  /** The memory that it has taken from its client's account. */
  readonly #holdings: Holdings;

  constructor(options: SubscriptionOptions) {
    this.options = options;
    this.id = options.id;
    this.queue = options.queue;
    this.#holdings = new Holdings(options.queue.account);
    this.parts = options.parts;
  }

  get isLive(): boolean {
    return this.#group !== null;
  }

  /**
   * The number of the last row up to which its client has everything; null until `live` has been sent to the client.
   */
  get standing(): number | null {
    if (!this.#announced) return null;
    return this.#group === null ? this.after : Math.max(this.after, this.parts.hub.position.number);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** What its filter costs (query/evaluate/cost.ts), in nanoseconds a byte. */
  abstract readonly cost: number;

  /** The collections whose rows it reads to catch up; null for all. */
  abstract readonly collections: readonly string[] | null;

  /** Begins, or begins anew. */
  protected abstract begin(run: AbortSignal, since: string | null): Promise<void>;

  /** Goes on from `after`, without a message about the interruption. */
  protected abstract goOn(run: AbortSignal): Promise<void>;

  /**
   * Begins.
   * @param since the position to go on from
   * @param bytes the memory that its question takes
   * @throws MillraceError `too-much-held`, `overloaded`
   */
  start(since: string | null, bytes: number): void {
    this.#holdings.take(bytes);
    this.launch((run) => this.begin(run, since));
  }

  /** Stops without a message to the client. */
  stop(): void {
    this.#ended = true;
    this.#run.abort();
    this.#leave();
    this.#holdings.close();
  }

  /**
   * Its client does not read, or its filter takes too much time: it leaves its group and reads on from the log later.
   * @param told the number of the last row it has been sent beyond the position of its group
   */
  lag(told = 0): void {
    if (this.#group === null) return;
    this.step();
    this.after = Math.max(this.after, told);
    this.behindSince ??= performance.now();
    this.launch((run) => this.goOn(run));
  }

  reset(reason: ResetReason): void {
    this.#leave();
    if (this.#ended) return;
    this.#announced = false;
    this.say('reset', { reason }, NOWHERE);
    const wait = this.#resetAt + RESET_PAUSE_MS - performance.now();
    this.#resetAt = Math.max(performance.now(), this.#resetAt + RESET_PAUSE_MS);
    this.launch(async (run) => {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      if (!run.aborted) await this.begin(run, null);
    });
  }

  /** Leaves its group at the place up to which it has been sent everything. */
  protected step(): LogMoment {
    const { hub } = this.parts;
    this.#leave();
    if (hub.position.number > this.after) this.after = hub.position.number;
    return hub.position;
  }

  /** Begins another task instead of the one under way, which is aborted by its signal. */
  protected launch(task: (run: AbortSignal) => Promise<void>): void {
    if (this.#ended) return;
    this.#run.abort();
    this.#holdings.follow(null);
    this.#run = new AbortController();
    const { signal: run } = this.#run;
    this.#turn = this.parts.hub.turn;
    task(run).catch((error: unknown) => {
      if (run.aborted) return;
      if (error instanceof Overtaken) this.reset('position-expired');
      else if (error instanceof Dropped) this.reset('dropped');
      else this.end(error);
    });
  }

  /** Notes the answer that it keeps up to date by itself, so that the memory of the answer is given back at the end. */
  protected own<L extends LiveAnswer>(run: AbortSignal, live: L): L {
    if (run.aborted) live.end();
    else this.#holdings.follow(live);
    return live;
  }

  /** Ends the subscription and sends the client the reason. */
  end(cause: unknown): void {
    this.stop();
    const error = translateError(cause);
    const known = error instanceof MillraceError;
    const problem = known ? error : new MillraceError('internal', 'An unexpected error occurred', { cause: error });
    if (!known || ERRORS[problem.code].status >= 500) this.parts.onError(error);
    this.say('unsubscribed', { problem: problemMembers(problem), retryable: ERRORS[problem.code].retryable });
    this.options.onEnd();
  }

  protected say(type: string, members: Readonly<Record<string, unknown>>, position: string | null = null): void {
    this.queue.push(toBytes(this.id, type, members, position));
  }

  /** Reads the log from `after` on until it can join a group. @param announce whether to send `live` to the client */
  protected async follow(run: AbortSignal, live: LiveAnswer, key: IndexKey | null, announce: boolean): Promise<void> {
    const { hub, turnstile } = this.parts;
    const lane = turnstile.lane(this.queue);
    let waited = false;
    for (;;) {
      await this.queue.ready(run);
      if (run.aborted || this.#isLate()) return;
      if (hub.turn !== this.#turn) return this.reset('gap');
      if (this.after >= hub.taken && (!announce || waited)) break;
      if (this.after >= hub.taken) {
        waited = true;
        await this.#settleDown();
        continue;
      }
      // Reads, sends and joins in one turn: if it waited in between, new rows could keep it from ever catching up.
      await lane.pass();
      if (run.aborted) return;
      if (!(await this.queue.paced(() => this.#tellNext(run, live, lane)))) return;
    }
    this.behindSince = null;
    this.#holdings.handOver();
    this.#group = hub.join(this, live, key);
    if (!announce) return;
    this.#announced = true;
    const position = formatPosition({ epoch: hub.newest.epoch, number: this.after });
    this.say('live', { position }, position);
  }

  /**
   * A snapshot may be ahead of the log by rows that are on their way. Waits briefly for them, so that the position we
   * announce usually matches the snapshot. Whether any are on their way cannot be known.
   */
  async #settleDown(): Promise<void> {
    if (this.until !== null) await this.parts.hub.passed(this.until, AHEAD_MS);
  }

  /** Reads the next stretch of the log and sends what is new in it. False when it has been reset or aborted. */
  async #tellNext(run: AbortSignal, live: LiveAnswer, lane: Lane): Promise<boolean> {
    const { backlog } = this.parts;
    const { account } = this.queue;
    const missed = { after: this.after, through: null, collections: this.collections, whose: account.key };
    // The reader's place in the semaphore is given back before anything waits for the client.
    const stretch = await backlog.read(missed, (found) => found);
    const bytes = bytesOf(stretch);
    account.note(bytes);
    try {
      return !run.aborted && (await this.#tellStretch(run, live, stretch, lane));
    } finally {
      account.note(-bytes);
    }
  }

  /** False when it has been reset or aborted. */
  async #tellStretch(run: AbortSignal, live: LiveAnswer, { segments, through }: Stretch, lane: Lane): Promise<boolean> {
    let last: LogRow | undefined;
    for (const { rows, joined } of segments) {
      // Sends no faster than the client takes it, however much was read at once.
      if (!this.queue.isReady) await this.queue.ready(run);
      if (run.aborted) return false;
      const told: Told[] = [];
      last = rows.at(-1);
      const transaction = joined && last !== undefined ? formatPosition(last) : null;
      for (const row of rows) {
        if (knows(this, row)) continue;
        const view = await readyFor(new RowView(row), live, lane);
        if (run.aborted) return false;
        const judgement = live.judge(view);
        if (typeof judgement !== 'string') {
          told.push(...judgement);
          continue;
        }
        tellAlone(this, told, transaction);
        this.reset(judgement);
        return false;
      }
      if (joined && last !== undefined && live.wanting) told.push(...(await this.#refilled(live, last)));
      if (run.aborted) return false;
      tellAlone(this, told, transaction);
      if (!live.remembers && last !== undefined) this.after = Math.max(this.after, last.number);
    }
    if (last !== undefined && live.wanting) tellAlone(this, await this.#refilled(live, last), null);
    if (run.aborted) return false;
    this.after = through;
    return true;
  }

  async #refilled(live: LiveAnswer, last: LogRow): Promise<readonly Told[]> {
    try {
      return await live.refill(new RowView(last));
    } catch (error) {
      this.reset(voidBy(error, this.parts.onError));
      return [];
    }
  }

  #isLate(): boolean {
    if (this.behindSince === null || performance.now() - this.behindSince < this.parts.timing.lagMs) return false;
    this.behindSince = null;
    this.tooSlow();
    return true;
  }

  protected abstract tooSlow(): void;

  #leave(): void {
    const group = this.#group;
    this.#group = null;
    if (group !== null) this.parts.hub.leave(group, this);
  }
}
