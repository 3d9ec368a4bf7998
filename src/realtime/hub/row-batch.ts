/**
 * What one batch of rows makes of all groups: judged row by row, completed from the database where windows need it, and
 * only then told, in the order of the log and whole transactions at a time.
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import type { LogRow } from '../../events/log/row.ts';
import { FairSemaphore } from '../../kernel/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Account } from '../../kernel/memory/byte-budget.ts';
import { isHeavy } from '../../query/evaluate/cost.ts';
import type { LiveAnswer } from '../answer/live-answer.ts';
import { RowView } from '../answer/row-view.ts';
import { voidBy } from '../answer/snapshot-store.ts';

import type { ResetReason } from '../wire/protocol.ts';
import type { Told } from '../wire/shared-message.ts';
import { type Group, type GroupMember, knows, tell } from './group.ts';
import type { GroupIndex } from './group-index.ts';
import { TransactionFrames } from './transaction-frame.ts';
import { type Segment, toSegments } from './transactions.ts';

/**
 * How long everybody waits for the database to say what follows in some windows, in milliseconds. Whoever needs longer
 * begins anew, at the cost of nobody else.
 */
const SETTLE_MS = 1_000;
/** Windows of one principal or network that have all of that time, and how long the others of it have. */
const FEW_WINDOWS = 16;
const SETTLE_MANY_MS = 150;
/** Windows that are completed at one time, and how many of them for one principal or network. */
const SETTLED_AT_ONCE = 8;
const SETTLED_OF_ONE = 4;

/** How long one turn of the event loop may be judged. */
const TURN_MS = 10;

/**
 * How long a batch is held up by heavy questions, expensive filters that a large document is asked, in milliseconds. The
 * clients of those that are still to be asked then read on from the log by themselves, in turns (decisions/0078).
 */
const HEAVY_MS = 50;

/** Groups that are asked a row which is not heavy for them before the time is looked at again. */
const LIGHT_GROUPS = 64;

/** Where in the log something is told. */
interface Moment {
  readonly row: LogRow;
  /** Position of its transaction's last row; null outside of one. */
  readonly transaction: string | null;
  /** The number of the last row before all that is told together with it. */
  readonly before: number;
}

/** What a row, or the completion behind it, makes of one group. */
interface Outcome extends Moment {
  readonly group: Group;
  readonly told: readonly Told[];
  readonly reset: ResetReason | null;
}

export class RowBatch {
  readonly #book: GroupIndex;
  readonly #onError: (error: unknown) => void;
  readonly #outcomes: Outcome[] = [];
  readonly #wanting = new Set<Group>();
  readonly #slots = new FairSemaphore(SETTLED_AT_ONCE, SETTLED_OF_ONE);
  /** What was read for windows and is not told yet, by the account that pays for it. */
  readonly #held = new Map<Account, number>();
  #heavyMs = 0;
  #breathedAt = performance.now();
  /** The row judged before. */
  #judged: LogRow | null = null;

  constructor(book: GroupIndex, onError: (error: unknown) => void) {
    this.#book = book;
    this.#onError = onError;
  }

  /** Groups whose answers ended in it: they are in the book no more, and hear of it when it is told. */
  get ended(): readonly Group[] {
    return this.#outcomes.flatMap(({ group, reset }) => (reset === null ? [] : group));
  }

  async judge(rows: readonly LogRow[]): Promise<void> {
    const { segments, open } = toSegments(rows);
    for (const segment of segments) await this.#judgeSegment(segment);
    if (open.length > 0) await this.#judgeSegment({ rows: open, joined: true });
    const last = rows.at(-1);
    if (last !== undefined) await this.#settle(alone(last), this.#wanting);
  }

  async #judgeSegment({ rows, joined }: Segment): Promise<void> {
    const last = rows.at(-1);
    const transaction = joined && last !== undefined ? new RowView(last).event : null;
    const before = (rows[0]?.number ?? 1) - 1;
    for (const row of rows) {
      await this.#breathe();
      await this.#settleBefore(row);
      this.#judged = row;
      const view = new RowView(row);
      // Collected first: a group whose answer ends leaves the book.
      const concerned: Group[] = [];
      this.#book.concerned(view, (group) => concerned.push(group));
      await this.#judgeGroups(concerned, view, { row, transaction, before });
    }
    if (joined && last !== undefined) await this.#settle({ row: last, transaction, before }, this.#wanting);
  }

  async #judgeGroups(groups: readonly Group[], view: RowView, moment: Moment): Promise<void> {
    const { bytes } = view;
    const heavy: Group[] = [];
    let light = 0;
    for (const group of groups) {
      if (isHeavy(group.live.cost, bytes)) {
        heavy.push(group);
        continue;
      }
      this.#judgeGroup(group, view, moment);
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
    await group.live.prepare(view);
    this.#judgeGroup(group, view, moment);
    this.#heavyMs += performance.now() - began;
    await this.#breathe();
  }

  /** Its members go on by themselves from where they stood before this batch: nobody is left to be told of it here. */
  #letGo(group: Group): void {
    this.#wanting.delete(group);
    for (const member of [...group.members]) member.lag(0);
  }

  /** Lets others go on in between, however much there is to judge. */
  async #breathe(): Promise<void> {
    if (performance.now() - this.#breathedAt < TURN_MS) return;
    await otherWork();
    this.#breathedAt = performance.now();
  }

  #judgeGroup(group: Group, view: RowView, moment: Moment): void {
    const { row } = moment;
    if (group.has(row)) return;
    const judgement = group.live.judge(view);
    if (typeof judgement === 'string') {
      this.#end({ ...moment, group, told: [], reset: judgement });
      return;
    }
    // Who found no collection hears of its being made, though that says nothing by itself.
    if (judgement.length > 0 || row.operation === 'create')
      this.#outcomes.push({ ...moment, group, told: judgement, reset: null });
    if (group.live.wanting) this.#wanting.add(group);
  }

  /** A member whose snapshot ends before the row has the answer as of then: what it makes of the row must rest on it. */
  async #settleBefore(row: LogRow): Promise<void> {
    const last = this.#judged;
    if (last === null || this.#wanting.size === 0) return;
    const parting = [...this.#wanting].filter((group) => group.parts(last, row));
    await this.#settle(alone(last), parting);
  }

  async #settle(moment: Moment, wanting: Iterable<Group>): Promise<void> {
    const groups = [...wanting];
    if (groups.length === 0) return;
    const at = new RowView(moment.row);
    for (const group of groups) this.#wanting.delete(group);
    const begunAt = performance.now();
    const windows = new Map<string, number>();
    const settle = async (group: Group): Promise<Outcome> => {
      const common = { ...moment, group };
      const { payer } = group.live;
      const count = (windows.get(payer.key) ?? 0) + 1;
      windows.set(payer.key, count);
      const endAt = begunAt + (count <= FEW_WINDOWS ? SETTLE_MS : SETTLE_MANY_MS);
      try {
        const told = await this.#slots.run(payer.key, () => this.#complete(group.live, at, endAt));
        return { ...common, told, reset: null };
      } catch (error) {
        return { ...common, told: [], reset: voidBy(error, this.#onError) };
      }
    };
    for (const outcome of await Promise.all(groups.map(settle))) {
      if (outcome.reset === null) this.#outcomes.push(outcome);
      else this.#end(outcome);
    }
  }

  /** @throws MillraceError `overloaded`, `too-much-held` when there is no time or no memory for it */
  async #complete(live: LiveAnswer, at: RowView, endAt: number): Promise<readonly Told[]> {
    const { payer } = live;
    payer.require(0);
    const leftMs = Math.ceil(endAt - performance.now());
    if (leftMs <= 0) throw new MillraceError('overloaded', 'Too many windows have to be completed');
    const told = await live.settle(at, leftMs);
    // The stored bytes are held beside those that are made of them.
    const bytes = 2 * told.reduce((sum, one) => sum + one.bytes, 0);
    payer.note(bytes);
    this.#held.set(payer, (this.#held.get(payer) ?? 0) + bytes);
    return told;
  }

  /** Gives back what was held until it was told. */
  release(): void {
    for (const [account, bytes] of this.#held) account.note(-bytes);
    this.#held.clear();
  }

  #end(outcome: Outcome): void {
    this.#book.remove(outcome.group);
    this.#wanting.delete(outcome.group);
    this.#outcomes.push(outcome);
  }

  /** Hands everything to the members of the groups, as they are now. */
  tell(): void {
    let bundles: TransactionFrames | null = null;
    let bundled: string | null = null;
    for (const outcome of this.#outcomes) {
      const { group, row, transaction, before, told, reset } = outcome;
      // What was bundled before a reset belongs before it.
      if (transaction !== bundled || reset !== null) {
        bundles?.push();
        bundles = transaction === null ? null : new TransactionFrames(transaction);
        bundled = transaction;
      }
      if (reset !== null) {
        resetAll(group, reset);
        continue;
      }
      for (const member of group.members) {
        if (knows(member, row)) continue;
        const fits = hasRoom(member, told) && (bundles === null || bundles.add(member, told));
        if (fits && bundles === null) tell(member, told);
        if (fits) continue;
        // More waits for its client than one turn may bring.
        bundles?.drop(member);
        // A window is told everything of a batch, or stands before it.
        member.lag(group.live.remembers ? 0 : before);
      }
    }
    bundles?.push();
  }
}

/** Whether a client can be told in this turn. What has been made for others is told to it, whatever it holds. */
function hasRoom({ outlet }: GroupMember, told: readonly Told[]): boolean {
  if (!outlet.hasRoom) return false;
  for (const { made } of told) if (made === 0) return outlet.account.hasRoom(0);
  return true;
}

function alone(row: LogRow): Moment {
  return { row, transaction: null, before: row.number - 1 };
}

/** The answer of a group is void for all of its members. */
export function resetAll(group: Group, reason: ResetReason): void {
  const members = [...group.members];
  group.members.clear();
  group.live.end();
  for (const member of members) member.reset(reason);
}
