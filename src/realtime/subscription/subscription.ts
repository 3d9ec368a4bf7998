/**
 * The base of all subscriptions. A subscription reads the log by itself until it has caught up, then joins a group, which
 * it leaves when its client is too slow. After `lagMs` (realtime-deps.ts) a live result restarts, and live events are closed.
 */
import type { Timestamp } from 'mongodb';
import { translateError } from '../../database/errors.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import { formatPosition } from '../../events/log/position.ts';
import { ERRORS, MillraceError } from '../../lib/errors.ts';
import { problemFields } from '../../lib/problem.ts';
import type { ScheduledTask } from '../../query/evaluate/fair-scheduler.ts';
import type { FilterIndexKey } from '../hub/filter-index-key.ts';
import type { TimedLogPosition } from '../hub/hub.ts';
import { hasReceivedRow, type SubscriptionGroup, type SubscriptionGroupMember } from '../hub/subscription-group.ts';
import { queueAsTransaction } from '../hub/transaction-messages.ts';
import type { LiveResult, RowEffect } from '../result/live-result-interface.ts';
import { LogRowView } from '../result/log-row-view.ts';
import { CollectionDropped, resetReasonForError } from '../result/snapshot-reader.ts';
import { encodeMessage } from '../wire/encode-message.ts';
import { RESTART_POSITION, type ResetReason } from '../wire/protocol.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { SubscriptionMessage } from '../wire/shared-message.ts';
import { type BacklogChunk, BacklogExpired } from './missed-rows-reader.ts';
import type { RealtimeDeps } from './realtime-deps.ts';
import type { RowEvaluation } from './shared-row-effects.ts';
import { backlogChunkBytes, SubscriptionMemory } from './subscription-memory.ts';

/** Minimum time between two resets of one subscription. */
const RESET_PAUSE_MS = 500;
/** How long to wait for the log after a snapshot. Usually it takes milliseconds; on an idle database no row comes. */
const AHEAD_MS = 100;

export interface SubscriptionOptions {
  readonly id: string | null;
  readonly queue: SendQueue;
  readonly deps: RealtimeDeps;
  /** Called when it has ended by itself. */
  readonly onEnd: () => void;
  /** Called when it lags for too long and cannot restart. */
  readonly onTooSlow: () => void;
}

export abstract class Subscription implements SubscriptionGroupMember {
  readonly id: string | null;
  readonly queue: SendQueue;
  protected readonly deps: RealtimeDeps;
  protected readonly options: SubscriptionOptions;
  after = 0;
  until: Timestamp | null = null;
  absent: string | null = null;
  /** When it left its group because its client is slow; monotonic milliseconds. */
  protected behindSince: number | null = null;
  /** When it was last reset: older snapshots may be the reason. Monotonic milliseconds. */
  protected resetAt = 0;
  #group: SubscriptionGroup | null = null;
  #run = new AbortController();
  #turn = 0;
  #ended = false;
  #announced = false;
  /** The memory that it uses of its client's budget. */
  readonly #memory: SubscriptionMemory;

  constructor(options: SubscriptionOptions) {
    this.options = options;
    this.id = options.id;
    this.queue = options.queue;
    this.#memory = new SubscriptionMemory(options.queue.account);
    this.deps = options.deps;
  }

  get isLive(): boolean {
    return this.#group !== null;
  }

  /** The number of the last row up to which its client has everything; null until `live` was sent to the client. */
  get deliveredPosition(): number | null {
    if (!this.#announced) return null;
    return this.#group === null ? this.after : Math.max(this.after, this.deps.hub.position.number);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The cost of its filter (query/evaluate/filter-cost.ts), in nanoseconds per byte. */
  abstract readonly cost: number;

  /** The collections whose rows it reads to catch up; null for all. */
  abstract readonly collections: readonly string[] | null;

  /** Starts, or restarts. */
  protected abstract begin(run: AbortSignal, since: string | null): Promise<void>;

  /** Continues from `after`, without a message about the interruption. */
  protected abstract resumeLive(run: AbortSignal): Promise<void>;

  /**
   * Starts.
   * @param since the position to continue from
   * @param bytes the memory of its query
   * @throws MillraceError `client-memory-exceeded`, `overloaded`
   */
  start(since: string | null, bytes: number): void {
    this.#memory.take(bytes);
    this.launch((run) => this.begin(run, since));
  }

  /** Stops without a message to the client. */
  stop(): void {
    this.#ended = true;
    this.#run.abort();
    this.#leave();
    this.#memory.close();
  }

  /**
   * Its client does not read, or its filter takes too much time: it leaves its group and reads the log later.
   * @param reported the number of the last row that it has received beyond the position of its group
   */
  lag(reported = 0): void {
    if (this.#group === null) return;
    this.step();
    this.after = Math.max(this.after, reported);
    this.behindSince ??= performance.now();
    this.launch((run) => this.resumeLive(run));
  }

  reset(reason: ResetReason): void {
    this.#leave();
    if (this.#ended) return;
    this.#announced = false;
    this.sendMessage('reset', { reason }, RESTART_POSITION);
    const wait = this.resetAt + RESET_PAUSE_MS - performance.now();
    this.resetAt = Math.max(performance.now(), this.resetAt + RESET_PAUSE_MS);
    this.launch(async (run) => {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      if (!run.aborted) await this.begin(run, null);
    });
  }

  /** Leaves its group at the position up to which its client has received everything. */
  protected step(): TimedLogPosition {
    const { hub } = this.deps;
    this.#leave();
    if (hub.position.number > this.after) this.after = hub.position.number;
    return hub.position;
  }

  /** Starts another task instead of the current one, which its signal aborts. */
  protected launch(task: (run: AbortSignal) => Promise<void>): void {
    if (this.#ended) return;
    this.#run.abort();
    this.#memory.setResult(null);
    this.#run = new AbortController();
    const { signal: run } = this.#run;
    this.#turn = this.deps.hub.turn;
    task(run).catch((error: unknown) => {
      if (run.aborted) return;
      if (error instanceof BacklogExpired) this.reset('position-expired');
      else if (error instanceof CollectionDropped) this.reset('dropped');
      else this.end(error);
    });
  }

  /** Records the result that it updates by itself, so that its memory is released at the end. */
  protected own<L extends LiveResult>(run: AbortSignal, live: L): L {
    if (run.aborted) live.end();
    else this.#memory.setResult(live);
    return live;
  }

  /** Ends the subscription and sends the client the reason. */
  end(cause: unknown): void {
    this.stop();
    const error = translateError(cause);
    const known = error instanceof MillraceError;
    const problem = known ? error : new MillraceError('internal', 'An unexpected error occurred', { cause: error });
    if (!known || ERRORS[problem.code].status >= 500) this.deps.onError(error);
    this.sendMessage('unsubscribed', { problem: problemFields(problem), retryable: ERRORS[problem.code].retryable });
    this.options.onEnd();
  }

  protected sendMessage(type: string, fields: Readonly<Record<string, unknown>>, position: string | null = null): void {
    this.queue.push(encodeMessage(this.id, type, fields, position));
  }

  /** Reads the log from `after` on until it can join a group. @param announce whether to send `live` */
  protected async follow(
    run: AbortSignal,
    live: LiveResult,
    key: FilterIndexKey | null,
    announce: boolean,
  ): Promise<void> {
    const { hub, fairYield, rowEffects } = this.deps;
    const lane = fairYield.createTask(this.queue);
    const rows = rowEffects.evaluate(live, run);
    let waited = false;
    for (;;) {
      await this.queue.ready(run);
      if (run.aborted || this.#isLate()) return;
      if (hub.turn !== this.#turn) return this.reset('gap');
      if (this.after >= hub.taken) {
        if (!announce || waited) break;
        // A snapshot may be ahead of the log. A short wait for rows on their way, if there are any, usually makes the
        // announced position match the snapshot.
        waited = true;
        if (this.until !== null) await hub.passed(this.until, AHEAD_MS);
        continue;
      }
      // Reads, sends and joins in one turn: if it waited in between, new rows could keep it from ever catching up.
      await lane.waitTurn();
      if (run.aborted) return;
      if (!(await this.queue.paced(() => this.#reportNext(run, live, rows, lane)))) return;
    }
    rows.end();
    this.behindSince = null;
    this.#memory.releaseResult();
    this.#group = hub.join(this, live, key);
    if (!announce) return;
    this.#announced = true;
    const position = formatPosition({ epoch: hub.newest.epoch, number: this.after });
    this.sendMessage('live', { position }, position);
  }

  /** Reads the next rows of the log and sends what is new. False if it has been reset or aborted. */
  async #reportNext(run: AbortSignal, live: LiveResult, rows: RowEvaluation, lane: ScheduledTask): Promise<boolean> {
    const { account } = this.queue;
    const missed = { after: this.after, through: null, collections: this.collections, whose: account.key };
    // The semaphore is released before anything waits for the client.
    const stretch = await this.deps.backlog.read(missed, (found) => found);
    const bytes = backlogChunkBytes(stretch);
    account.note(bytes);
    try {
      return !run.aborted && (await this.#reportStretch(run, live, stretch, (row) => rows.apply(row, lane)));
    } finally {
      account.note(-bytes);
    }
  }

  async #reportStretch(
    run: AbortSignal,
    live: LiveResult,
    { segments, through }: BacklogChunk,
    apply: (row: LogRow) => Promise<RowEffect>,
  ): Promise<boolean> {
    let last: LogRow | undefined;
    for (const { rows, joined } of segments) {
      // Sends no faster than the client reads, however much was read at once.
      if (!this.queue.isReady) await this.queue.ready(run);
      if (run.aborted) return false;
      const reported: SubscriptionMessage[] = [];
      last = rows.at(-1);
      const transaction = joined && last !== undefined ? formatPosition(last) : null;
      for (const row of rows) {
        if (hasReceivedRow(this, row)) continue;
        const verdict = await apply(row);
        if (run.aborted) return false;
        if (typeof verdict !== 'string') {
          reported.push(...verdict);
          continue;
        }
        queueAsTransaction(this, reported, transaction);
        this.reset(verdict);
        return false;
      }
      if (joined && last !== undefined && live.needsRefill) reported.push(...(await this.#refilled(live, last)));
      if (run.aborted) return false;
      queueAsTransaction(this, reported, transaction);
      if (!live.isStateful && last !== undefined) this.after = Math.max(this.after, last.number);
    }
    if (last !== undefined && live.needsRefill) queueAsTransaction(this, await this.#refilled(live, last), null);
    if (run.aborted) return false;
    this.after = through;
    return true;
  }

  async #refilled(live: LiveResult, last: LogRow): Promise<readonly SubscriptionMessage[]> {
    try {
      return await live.refill(new LogRowView(last));
    } catch (error) {
      this.reset(resetReasonForError(error, this.deps.onError));
      return [];
    }
  }

  #isLate(): boolean {
    if (this.behindSince === null || performance.now() - this.behindSince < this.deps.timing.lagMs) return false;
    this.behindSince = null;
    this.tooSlow();
    return true;
  }

  protected abstract tooSlow(): void;

  #leave(): void {
    const group = this.#group;
    this.#group = null;
    if (group !== null) this.deps.hub.leave(group, this);
  }
}
