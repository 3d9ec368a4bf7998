/**
 * Applies one batch of rows to all groups. Rows are evaluated one by one, and windows that have become too short are
 * refilled from the database. Only then is everything sent, in log order, each transaction as a whole.
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import type { LogRow } from '../../events/log/log-row.ts';
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { MemoryAccount } from '../../lib/memory/byte-budget.ts';
import type { LiveResult } from '../result/live-result-interface.ts';
import { LogRowView } from '../result/log-row-view.ts';
import { resetReasonForError } from '../result/snapshot-reader.ts';

import type { ResetReason } from '../wire/protocol.ts';
import type { SubscriptionMessage } from '../wire/shared-message.ts';
import { type AtomicRowGroup, splitByTransaction } from './atomic-row-groups.ts';
import {
  hasQueueRoom,
  hasReceivedRow,
  queueMessages,
  resetGroup,
  type SubscriptionGroup,
} from './subscription-group.ts';
import type { SubscriptionGroupIndex } from './subscription-group-index.ts';
import { TransactionMessages } from './transaction-messages.ts';

/**
 * How long a batch waits for the database to refill windows, in milliseconds. A window that takes longer restarts, so
 * that the other subscriptions do not wait for it.
 */
const REFILL_MS = 1_000;
/** This many windows of one principal or network may use all of that time; its other windows get the shorter time. */
const FEW_WINDOWS = 16;
const REFILL_MANY_MS = 150;
/** Concurrent refills, and how many of them for one principal or network. */
const REFILLED_AT_ONCE = 8;
const REFILLED_OF_ONE = 4;

/** How long rows are evaluated in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;

/**
 * How long a batch spends on expensive filters for large documents, in milliseconds. After that, the subscriptions with
 * such filters read the log by themselves, in turn (decisions/0077).
 */
const HEAVY_MS = 50;

/** The clock is read again after this many groups with cheap filters. */
const LIGHT_GROUPS = 64;

/** The log position of the messages. */
interface Moment {
  readonly row: LogRow;
  /** Position of its transaction's last row; null outside of one. */
  readonly transaction: string | null;
  /** The number of the last row before this one, or before its transaction, which is sent as a whole. */
  readonly before: number;
}

/** The effect of a row, or of the refill of a window after it, on one group: messages, or a reset. */
interface Outcome extends Moment {
  readonly group: SubscriptionGroup;
  readonly reported: readonly SubscriptionMessage[];
  readonly reset: ResetReason | null;
}

export class LogRowBatch {
  readonly #index: SubscriptionGroupIndex;
  readonly #onError: (error: unknown) => void;
  readonly #outcomes: Outcome[] = [];
  readonly #wanting = new Set<SubscriptionGroup>();
  readonly #slots = new FairSemaphore(REFILLED_AT_ONCE, REFILLED_OF_ONE);
  /** Bytes read for windows and not sent yet, by the memory budget they count against. */
  readonly #held = new Map<MemoryAccount, number>();
  #heavyMs = 0;
  #encodingMs = 0;
  #breathedAt = performance.now();
  /** The last evaluated row. */
  #judged: LogRow | null = null;

  constructor(index: SubscriptionGroupIndex, onError: (error: unknown) => void) {
    this.#index = index;
    this.#onError = onError;
  }

  /** Groups whose result ended in this batch. The index no longer has them; `report` resets their subscriptions. */
  get ended(): readonly SubscriptionGroup[] {
    return this.#outcomes.flatMap(({ group, reset }) => (reset === null ? [] : group));
  }

  async judge(rows: readonly LogRow[]): Promise<void> {
    const { segments, open } = splitByTransaction(rows);
    for (const segment of segments) await this.#judgeSegment(segment);
    if (open.length > 0) await this.#judgeSegment({ rows: open, joined: true });
    const last = rows.at(-1);
    if (last !== undefined) await this.#refill(alone(last), this.#wanting);
  }

  async #judgeSegment({ rows, joined }: AtomicRowGroup): Promise<void> {
    const last = rows.at(-1);
    const transaction = joined && last !== undefined ? new LogRowView(last).event : null;
    const before = (rows[0]?.number ?? 1) - 1;
    for (const row of rows) {
      await this.#breathe();
      await this.#refillBefore(row);
      this.#judged = row;
      const view = new LogRowView(row);
      if (view.isLong && this.#index.follows(row.collection)) await view.read();
      // Collected first, because evaluation removes a group from the index when its result ends.
      const concerned: SubscriptionGroup[] = [];
      this.#index.concerned(view, (group) => concerned.push(group));
      await this.#judgeGroups(concerned, view, { row, transaction, before });
    }
    if (joined && last !== undefined) await this.#refill({ row: last, transaction, before }, this.#wanting);
  }

  async #judgeGroups(groups: readonly SubscriptionGroup[], view: LogRowView, moment: Moment): Promise<void> {
    const { isLong } = view;
    const heavy: SubscriptionGroup[] = [];
    let light = 0;
    for (const group of groups) {
      if (group.live.isHeavy(view)) {
        heavy.push(group);
        continue;
      }
      if (isLong) await this.#judgeLong(group, view, moment);
      else this.#judgeGroup(group, view, moment);
      light += 1;
      if (light % LIGHT_GROUPS === 0) await this.#breathe();
    }
    for (const group of heavy) await this.#judgeHeavy(group, view, moment);
  }

  async #judgeHeavy(group: SubscriptionGroup, view: LogRowView, moment: Moment): Promise<void> {
    if (this.#heavyMs > HEAVY_MS) {
      this.#letGo(group);
      return;
    }
    const began = performance.now();
    await this.#judgeLong(group, view, moment);
    this.#heavyMs += performance.now() - began;
  }

  async #judgeLong(group: SubscriptionGroup, view: LogRowView, moment: Moment): Promise<void> {
    await group.live.prepare(view);
    const reported = this.#judgeGroup(group, view, moment);
    if (view.isLong && group.live.rendersAlone) await this.#encode(reported, group);
    else await this.#breathe();
  }

  /**
   * Encodes messages about a large document now, yielding after each: all messages of a batch are sent in one turn. If
   * that takes long, the subscriptions read the log by themselves.
   */
  async #encode(reported: readonly SubscriptionMessage[], group: SubscriptionGroup): Promise<void> {
    const { memoryAccount } = group.live;
    for (const one of reported) {
      // Not encoded, it is sent to clients with room in their memory budget, and the others read the log by themselves.
      if (!memoryAccount.hasRoom(0)) return;
      if (this.#encodingMs > HEAVY_MS) return this.#letGo(group);
      const began = performance.now();
      const { bytes } = one;
      this.#encodingMs += performance.now() - began;
      this.#hold(memoryAccount, bytes);
      await this.#breathe();
    }
  }

  /** Lets all subscriptions of a group read the log by themselves, from their position before this batch. */
  #letGo(group: SubscriptionGroup): void {
    this.#wanting.delete(group);
    for (const member of [...group.members]) member.lag(0);
  }

  /** Yields to other work of the process, however much is left to evaluate. */
  async #breathe(): Promise<void> {
    if (performance.now() - this.#breathedAt < TURN_MS) return;
    await otherWork();
    this.#breathedAt = performance.now();
  }

  /** @returns the messages for the subscriptions of the group */
  #judgeGroup(group: SubscriptionGroup, view: LogRowView, moment: Moment): readonly SubscriptionMessage[] {
    const { row } = moment;
    if (group.has(row)) return [];
    const verdict = group.live.applyRow(view);
    if (typeof verdict === 'string') {
      this.#end({ ...moment, group, reported: [], reset: verdict });
      return [];
    }
    // The row that creates a collection has no message, but subscriptions that found no collection (`absent`) need it.
    if (verdict.length > 0 || row.operation === 'create')
      this.#outcomes.push({ ...moment, group, reported: verdict, reset: null });
    if (group.live.needsRefill) this.#wanting.add(group);
    return verdict;
  }

  /**
   * If a subscription's snapshot ends between the previous row and this row, the window is refilled as of the previous
   * row. Otherwise that subscription would apply this row to an outdated window.
   */
  async #refillBefore(row: LogRow): Promise<void> {
    const last = this.#judged;
    if (last === null || this.#wanting.size === 0) return;
    const parting = [...this.#wanting].filter((group) => group.parts(last, row));
    await this.#refill(alone(last), parting);
  }

  async #refill(moment: Moment, wanting: Iterable<SubscriptionGroup>): Promise<void> {
    const groups = [...wanting];
    if (groups.length === 0) return;
    const at = new LogRowView(moment.row);
    for (const group of groups) this.#wanting.delete(group);
    const begunAt = performance.now();
    const windows = new Map<string, number>();
    const refill = async (group: SubscriptionGroup): Promise<Outcome> => {
      const common = { ...moment, group };
      const { memoryAccount } = group.live;
      const count = (windows.get(memoryAccount.key) ?? 0) + 1;
      windows.set(memoryAccount.key, count);
      const endAt = begunAt + (count <= FEW_WINDOWS ? REFILL_MS : REFILL_MANY_MS);
      try {
        const reported = await this.#slots.run(memoryAccount.key, () => this.#complete(group.live, at, endAt));
        return { ...common, reported, reset: null };
      } catch (error) {
        return { ...common, reported: [], reset: resetReasonForError(error, this.#onError) };
      }
    };
    for (const outcome of await Promise.all(groups.map(refill))) {
      if (outcome.reset === null) this.#outcomes.push(outcome);
      else this.#end(outcome);
    }
  }

  /** @throws MillraceError `overloaded`, `client-memory-exceeded` without time or memory for the refill */
  async #complete(live: LiveResult, at: LogRowView, endAt: number): Promise<readonly SubscriptionMessage[]> {
    const { memoryAccount } = live;
    memoryAccount.require(0);
    const leftMs = Math.ceil(endAt - performance.now());
    if (leftMs <= 0) throw new MillraceError('overloaded', 'Too many windows have to be refilled');
    const reported = await live.refill(at, leftMs);
    // Twice: stored bytes are in memory beside the messages built from them.
    const bytes = 2 * reported.reduce((sum, one) => sum + one.bytes, 0);
    this.#hold(memoryAccount, bytes);
    return reported;
  }

  #hold(payer: MemoryAccount, bytes: number): void {
    payer.note(bytes);
    this.#held.set(payer, (this.#held.get(payer) ?? 0) + bytes);
  }

  /** Releases the memory reserved for messages until they were sent. */
  release(): void {
    for (const [account, bytes] of this.#held) account.note(-bytes);
    this.#held.clear();
  }

  #end(outcome: Outcome): void {
    this.#index.remove(outcome.group);
    this.#wanting.delete(outcome.group);
    this.#outcomes.push(outcome);
  }

  /** Sends everything to the current subscriptions of the groups. */
  report(): void {
    let frames: TransactionMessages | null = null;
    let framed: string | null = null;
    for (const outcome of this.#outcomes) {
      const { group, row, transaction, before, reported, reset } = outcome;
      // Messages that were collected before a reset are sent before it.
      if (transaction !== framed || reset !== null) {
        frames?.push();
        frames = transaction === null ? null : new TransactionMessages(transaction);
        framed = transaction;
      }
      if (reset !== null) {
        resetGroup(group, reset);
        continue;
      }
      for (const member of group.members) {
        if (hasReceivedRow(member, row)) continue;
        const fits = hasQueueRoom(member, reported) && (frames === null || frames.add(member, reported));
        if (fits && frames === null) queueMessages(member, reported);
        if (fits) continue;
        // One turn of the event loop must not add more to the send queue of this client.
        frames?.drop(member);
        // A window gets the whole batch, or stays at its position before the batch.
        member.lag(group.live.isStateful ? 0 : before);
      }
    }
    frames?.push();
  }
}

function alone(row: LogRow): Moment {
  return { row, transaction: null, before: row.number - 1 };
}
