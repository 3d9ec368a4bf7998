/**
 * One batch of rows applied to all groups. The rows are evaluated one by one, and windows that have become too short
 * are refilled from the database. Only then is everything sent, in the order of the log, each transaction as a whole.
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import type { LogRow } from '../../events/log/row.ts';
import { FairSemaphore } from '../../kernel/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Account } from '../../kernel/memory/byte-budget.ts';
import type { LiveAnswer } from '../answer/live-answer.ts';
import { RowView } from '../answer/row-view.ts';
import { voidBy } from '../answer/snapshot-store.ts';

import type { ResetReason } from '../wire/protocol.ts';
import type { Told } from '../wire/shared-message.ts';
import { type Group, hasRoom, knows, resetAll, tell } from './group.ts';
import type { GroupIndex } from './group-index.ts';
import { TransactionFrames } from './transaction-frame.ts';
import { type Segment, toSegments } from './transactions.ts';

/**
 * How long a batch waits for the database to refill windows, in milliseconds. A window that takes longer begins anew,
 * so that the other subscriptions do not wait for it.
 */
const REFILL_MS = 1_000;
/** So many windows of one principal or network have all of that time; its other windows have the shorter time. */
const FEW_WINDOWS = 16;
const REFILL_MANY_MS = 150;
/** Windows that are refilled at one time, and how many of them for one principal or network. */
const REFILLED_AT_ONCE = 8;
const REFILLED_OF_ONE = 4;

/** How long rows are evaluated in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;

/**
 * How long a batch spends on heavy work, in milliseconds: expensive filters on large documents. After that, the
 * subscriptions with such filters read on from the log by themselves, in turns (decisions/0077).
 */
const HEAVY_MS = 50;

/** After so many groups with cheap filters the clock is read again. */
const LIGHT_GROUPS = 64;

/** The place in the log to which messages belong. */
interface Moment {
  readonly row: LogRow;
  /** Position of its transaction's last row; null outside of one. */
  readonly transaction: string | null;
  /** The number of the last row before this one, or before its transaction, which is sent as a whole. */
  readonly before: number;
}

/** What a row, or the refill of a window after it, means for one group: messages, or a reset. */
interface Outcome extends Moment {
  readonly group: Group;
  readonly told: readonly Told[];
  readonly reset: ResetReason | null;
}

export class RowBatch {
  readonly #index: GroupIndex;
  readonly #onError: (error: unknown) => void;
  readonly #outcomes: Outcome[] = [];
  readonly #wanting = new Set<Group>();
  readonly #slots = new FairSemaphore(REFILLED_AT_ONCE, REFILLED_OF_ONE);
  /** Bytes read for windows and not sent yet, by the account that pays for them. */
  readonly #held = new Map<Account, number>();
  #heavyMs = 0;
  #encodingMs = 0;
  #breathedAt = performance.now();
  /** The row that was evaluated last. */
  #judged: LogRow | null = null;

  constructor(index: GroupIndex, onError: (error: unknown) => void) {
    this.#index = index;
    this.#onError = onError;
  }

  /** Groups with an answer that ended in this batch. The index no longer has them; `tell` resets their members. */
  get ended(): readonly Group[] {
    return this.#outcomes.flatMap(({ group, reset }) => (reset === null ? [] : group));
  }

  async judge(rows: readonly LogRow[]): Promise<void> {
    const { segments, open } = toSegments(rows);
    for (const segment of segments) await this.#judgeSegment(segment);
    if (open.length > 0) await this.#judgeSegment({ rows: open, joined: true });
    const last = rows.at(-1);
    if (last !== undefined) await this.#refill(alone(last), this.#wanting);
  }

  async #judgeSegment({ rows, joined }: Segment): Promise<void> {
    const last = rows.at(-1);
    const transaction = joined && last !== undefined ? new RowView(last).event : null;
    const before = (rows[0]?.number ?? 1) - 1;
    for (const row of rows) {
      await this.#breathe();
      await this.#refillBefore(row);
      this.#judged = row;
      const view = new RowView(row);
      if (view.isLong && this.#index.follows(row.collection)) await view.read();
      // Collected first, because a group is removed from the index while its row is evaluated, when its answer ends.
      const concerned: Group[] = [];
      this.#index.concerned(view, (group) => concerned.push(group));
      await this.#judgeGroups(concerned, view, { row, transaction, before });
    }
    if (joined && last !== undefined) await this.#refill({ row: last, transaction, before }, this.#wanting);
  }

  async #judgeGroups(groups: readonly Group[], view: RowView, moment: Moment): Promise<void> {
    const { isLong } = view;
    const heavy: Group[] = [];
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

  async #judgeHeavy(group: Group, view: RowView, moment: Moment): Promise<void> {
    if (this.#heavyMs > HEAVY_MS) {
      this.#letGo(group);
      return;
    }
    const began = performance.now();
    await this.#judgeLong(group, view, moment);
    this.#heavyMs += performance.now() - began;
  }

  async #judgeLong(group: Group, view: RowView, moment: Moment): Promise<void> {
    await group.live.prepare(view);
    const told = this.#judgeGroup(group, view, moment);
    if (view.isLong && group.live.rendersAlone) await this.#encode(told, group);
    else await this.#breathe();
  }

  /**
   * Encodes the messages about a large document now, where others get their turn after each: all messages of a batch are
   * sent in one turn. When that takes long, the members read on from the log by themselves.
   */
  async #encode(told: readonly Told[], group: Group): Promise<void> {
    const { payer } = group.live;
    for (const one of told) {
      // Not encoded, it is sent to those whose accounts have room, and the others read on by themselves.
      if (!payer.hasRoom(0)) return;
      if (this.#encodingMs > HEAVY_MS) return this.#letGo(group);
      const began = performance.now();
      const { bytes } = one;
      this.#encodingMs += performance.now() - began;
      this.#hold(payer, bytes);
      await this.#breathe();
    }
  }

  /** Lets all members of a group read on from the log by themselves, from where they stood before this batch. */
  #letGo(group: Group): void {
    this.#wanting.delete(group);
    for (const member of [...group.members]) member.lag(0);
  }

  /** Gives way to other work of the process, however much there is left to evaluate. */
  async #breathe(): Promise<void> {
    if (performance.now() - this.#breathedAt < TURN_MS) return;
    await otherWork();
    this.#breathedAt = performance.now();
  }

  /** @returns the messages for the members of the group */
  #judgeGroup(group: Group, view: RowView, moment: Moment): readonly Told[] {
    const { row } = moment;
    if (group.has(row)) return [];
    const judgement = group.live.judge(view);
    if (typeof judgement === 'string') {
      this.#end({ ...moment, group, told: [], reset: judgement });
      return [];
    }
    // The row that creates a collection has no message, but members that found no collection (`absent`) need it.
    if (judgement.length > 0 || row.operation === 'create')
      this.#outcomes.push({ ...moment, group, told: judgement, reset: null });
    if (group.live.wanting) this.#wanting.add(group);
    return judgement;
  }

  /**
   * Where a member's snapshot ends between the row before and this row, the window is refilled as of the row before.
   * Otherwise that member would apply this row to an outdated window.
   */
  async #refillBefore(row: LogRow): Promise<void> {
    const last = this.#judged;
    if (last === null || this.#wanting.size === 0) return;
    const parting = [...this.#wanting].filter((group) => group.parts(last, row));
    await this.#refill(alone(last), parting);
  }

  async #refill(moment: Moment, wanting: Iterable<Group>): Promise<void> {
    const groups = [...wanting];
    if (groups.length === 0) return;
    const at = new RowView(moment.row);
    for (const group of groups) this.#wanting.delete(group);
    const begunAt = performance.now();
    const windows = new Map<string, number>();
    const refill = async (group: Group): Promise<Outcome> => {
      const common = { ...moment, group };
      const { payer } = group.live;
      const count = (windows.get(payer.key) ?? 0) + 1;
      windows.set(payer.key, count);
      const endAt = begunAt + (count <= FEW_WINDOWS ? REFILL_MS : REFILL_MANY_MS);
      try {
        const told = await this.#slots.run(payer.key, () => this.#complete(group.live, at, endAt));
        return { ...common, told, reset: null };
      } catch (error) {
        return { ...common, told: [], reset: voidBy(error, this.#onError) };
      }
    };
    for (const outcome of await Promise.all(groups.map(refill))) {
      if (outcome.reset === null) this.#outcomes.push(outcome);
      else this.#end(outcome);
    }
  }

  /** @throws MillraceError `overloaded`, `too-much-held` when there is no time or no memory for the refill */
  async #complete(live: LiveAnswer, at: RowView, endAt: number): Promise<readonly Told[]> {
    const { payer } = live;
    payer.require(0);
    const leftMs = Math.ceil(endAt - performance.now());
    if (leftMs <= 0) throw new MillraceError('overloaded', 'Too many windows have to be refilled');
    const told = await live.refill(at, leftMs);
    // Twice: the stored bytes are held next to the messages that are made of them.
    const bytes = 2 * told.reduce((sum, one) => sum + one.bytes, 0);
    this.#hold(payer, bytes);
    return told;
  }

  #hold(payer: Account, bytes: number): void {
    payer.note(bytes);
    this.#held.set(payer, (this.#held.get(payer) ?? 0) + bytes);
  }

  /** Gives the memory back that was taken for messages until they were sent. */
  release(): void {
    for (const [account, bytes] of this.#held) account.note(-bytes);
    this.#held.clear();
  }

  #end(outcome: Outcome): void {
    this.#index.remove(outcome.group);
    this.#wanting.delete(outcome.group);
    this.#outcomes.push(outcome);
  }

  /** Sends everything to the present members of the groups. */
  tell(): void {
    let frames: TransactionFrames | null = null;
    let framed: string | null = null;
    for (const outcome of this.#outcomes) {
      const { group, row, transaction, before, told, reset } = outcome;
      // Messages that were collected before a reset are sent before it.
      if (transaction !== framed || reset !== null) {
        frames?.push();
        frames = transaction === null ? null : new TransactionFrames(transaction);
        framed = transaction;
      }
      if (reset !== null) {
        resetAll(group, reset);
        continue;
      }
      for (const member of group.members) {
        if (knows(member, row)) continue;
        const fits = hasRoom(member, told) && (frames === null || frames.add(member, told));
        if (fits && frames === null) tell(member, told);
        if (fits) continue;
        // One turn of the event loop may not add more to the send queue of this client.
        frames?.drop(member);
        // A window gets everything of a batch, or stays where it was before the batch.
        member.lag(group.live.remembers ? 0 : before);
      }
    }
    frames?.push();
  }
}

function alone(row: LogRow): Moment {
  return { row, transaction: null, before: row.number - 1 };
}
