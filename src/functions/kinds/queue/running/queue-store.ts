/**
 * The runs of the queue in `<db>_log.runs`: what is due, taking it, and how an attempt ends. A run that may be run now or later
 * has a time at which it is due; one that waits for an earlier run of its line has none; one that is running has a token, and
 * only who knows the token may end it. Not here: lists of runs (runs/run-store.ts), and when something is taken (run-dispatch.ts).
 */
import type { ClientSession, Collection, Document, Filter, IndexDescription, UpdateFilter } from 'mongodb';
import { translated } from '../../../../database/errors.ts';
import type { Mongo } from '../../../../database/mongo.ts';
import { insertOutputs } from '../../../../events/read/consumer.ts';
import { ACCOUNT_TYPES } from '../../../../kernel/event-types.ts';
import type { RunError } from '../../../runs/run.ts';
import { RUNS, type RunRow, runExpiry } from '../../../runs/run-row.ts';
import { JOB_INDEXES } from './job-store.ts';

const INDEXES: readonly IndexDescription[] = [
  // What is due, by function.
  { key: { plugin: 1, function: 1, dueAt: 1 }, partialFilterExpression: { dueAt: { $exists: true } } },
  // When the next one is due, of all functions.
  { key: { dueAt: 1 }, partialFilterExpression: { dueAt: { $exists: true } } },
  // The first one of a line. A run leaves its line when it has ended.
  { key: { line: 1, 'position.number': 1 }, partialFilterExpression: { line: { $exists: true } } },
  ...JOB_INDEXES,
];

/** An event of accounts: the input begins with its id and type. */
const OF_ACCOUNTS = `^\\{"id":"[\\d-]+","type":"(?:${ACCOUNT_TYPES.map((type) => type.replaceAll('.', '\\.')).join('|')})"`;

/** A claim that a crash of the database undoes is made again, so it need not wait for the other members. */
const QUICK = { writeConcern: { w: 1 } } as const;

/** A function, as runs name it. */
export interface FunctionName {
  readonly plugin: string;
  readonly function: string;
}

/** A function as it is now, and what it may be given. */
export interface RunnableFunction extends FunctionName {
  /** Whether its code may read accounts. Otherwise restricted runs wait for a version that may. */
  readonly readsAccounts: boolean;
}

export interface DueRun extends FunctionName {
  readonly _id: string;
}

/** What an attempt leaves in its run. */
export type AttemptFields = Pick<
  RunRow,
  'durationMs' | 'cpuMs' | 'error' | 'logs' | 'operations' | 'result' | 'resultBytes'
>;

export class QueueStore {
  readonly #runs: Collection<RunRow>;
  #prepared: Promise<void> | null = null;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#runs = log.collection<RunRow>(RUNS);
  }

  /** Makes the indexes, once. Asked when there is a function that needs a queue. */
  prepare(): Promise<void> {
    this.#prepared ??= translated(() => this.#prepare()).catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  async #prepare(): Promise<void> {
    await this.#runs.createIndexes([...INDEXES]);
    // Versions before this one did not record what a run may tell of.
    const former = { state: { $in: ['waiting', 'running'] }, kind: 'trigger', restricted: { $exists: false } } as const;
    const restricted = { $regexMatch: { input: { $ifNull: ['$input', ''] }, regex: OF_ACCOUNTS } };
    await this.#runs.updateMany(former, [{ $set: { restricted } }]);
  }

  /** Inserts runs. One whose id is there already stays as it is. */
  async insert(rows: readonly RunRow[]): Promise<void> {
    await translated(() => insertOutputs(this.#runs, [...rows]));
  }

  /** Makes the first unfinished run of each line due, unless it has a time already. */
  async releaseHeads(lines: readonly string[], now: Date): Promise<void> {
    const [first, ...rest] = lines.map((line) => [
      { $match: { line } },
      { $sort: { 'position.number': 1 } },
      { $limit: 1 },
      { $project: { _id: 1 } },
    ]);
    if (first === undefined) return;
    const pipeline = [...first, ...rest.map((one) => ({ $unionWith: { coll: RUNS, pipeline: one } }))];
    await this.#release(pipeline, now);
  }

  /** The same for all lines, when a process begins to run the queue. */
  async releaseAllHeads(now: Date): Promise<void> {
    await this.#release(
      [
        { $match: { line: { $exists: true } } },
        { $sort: { line: 1, 'position.number': 1 } },
        { $group: { _id: '$line', head: { $first: '$_id' } } },
        { $project: { _id: '$head' } },
      ],
      now,
    );
  }

  async #release(heads: readonly Document[], now: Date): Promise<void> {
    await translated(async () => {
      const found = await this.#runs.aggregate<{ _id: string }>([...heads], { allowDiskUse: true }).toArray();
      if (found.length === 0) return;
      const held = { _id: { $in: found.map(({ _id }) => _id) }, state: 'waiting', dueAt: { $exists: false } } as const;
      await this.#runs.updateMany(held, { $set: { dueAt: now } }, QUICK);
    });
  }

  /** The runs of each function that are due, the longest due first, up to a count for each. */
  async due(functions: readonly RunnableFunction[], now: Date, count: number): Promise<readonly DueRun[]> {
    const [first, ...rest] = functions.map((name) => [
      { $match: { ...runsFor(name), dueAt: { $lte: now } } },
      { $sort: { dueAt: 1 } },
      { $limit: count },
      { $project: { plugin: 1, function: 1 } },
    ]);
    if (first === undefined) return [];
    const pipeline = [...first, ...rest.map((one) => ({ $unionWith: { coll: RUNS, pipeline: one } }))];
    return await translated(() => this.#runs.aggregate<DueRun>(pipeline).toArray());
  }

  /** When the next run is due that is not due yet; null when there is none. */
  async nextDue(now: Date): Promise<Date | null> {
    const options = { sort: { dueAt: 1 }, projection: { dueAt: 1 } } as const;
    const row = await translated(() => this.#runs.findOne({ dueAt: { $gt: now } }, options));
    return row?.dueAt ?? null;
  }

  /** Takes a run that is due. @returns the run, of which an attempt has begun; null when it is no longer due */
  async claim(id: string, token: string, fn: RunnableFunction, version: string, now: Date): Promise<RunRow | null> {
    return await translated(() =>
      this.#runs.findOneAndUpdate(
        { _id: id, ...runsFor(fn), state: 'waiting', dueAt: { $lte: now } },
        { $set: { state: 'running', token, version, startedAt: now }, $inc: { attempt: 1 }, $unset: { dueAt: '' } },
        { returnDocument: 'after', ...QUICK },
      ),
    );
  }

  /** Whether a run is still taken by this token. */
  async holds(id: string, token: string): Promise<boolean> {
    return (await translated(() => this.#runs.findOne({ _id: id, token }, { projection: { _id: 1 } }))) !== null;
  }

  /**
   * Ends a run that succeeded, as a part of the transaction of what it wrote.
   * @returns false when another process has taken the run: then nothing of the transaction may be committed
   */
  async succeed(session: ClientSession, id: string, token: string, fields: AttemptFields, now: Date): Promise<boolean> {
    const { matchedCount } = await this.#runs.updateOne({ _id: id, token }, ended('ok', fields, now), { session });
    return matchedCount === 1;
  }

  /** Notes a failed attempt. @param dueAt when it is tried again; null to park it @returns whether the token held */
  async fail(id: string, token: string, fields: AttemptFields, dueAt: Date | null, now: Date): Promise<boolean> {
    const change: UpdateFilter<RunRow> =
      dueAt === null ? ended('parked', fields, now) : { $set: { ...fields, state: 'waiting', token: null, dueAt } };
    return (await translated(() => this.#runs.updateOne({ _id: id, token }, change))).matchedCount === 1;
  }

  /**
   * Gives back a run that was not tried, or not to its end, through no fault of its function: the attempt does not count.
   * @param isInterrupted whether it had begun
   */
  async giveBack(id: string, token: string, dueAt: Date, isInterrupted: boolean): Promise<void> {
    const $inc = { attempt: -1, ...(isInterrupted ? { interruptions: 1 } : {}) };
    const change = { $set: { state: 'waiting', token: null, dueAt }, $inc } as const;
    await translated(() => this.#runs.updateOne({ _id: id, token }, change));
  }

  /** The runs that are running, but for those that this process runs itself. */
  async left(own: readonly string[]): Promise<readonly RunRow[]> {
    return await translated(() => this.#runs.find({ state: 'running', token: { $nin: [null, ...own] } }).toArray());
  }

  /** Makes the next run of a line due, when the one before it has ended. @returns whether there is one */
  async releaseNext(line: string, now: Date): Promise<boolean> {
    const waits = { $and: [{ $eq: ['$state', 'waiting'] }, { $eq: [{ $type: '$dueAt' }, 'missing'] }] };
    const next = await translated(() =>
      this.#runs.findOneAndUpdate(
        { line },
        [{ $set: { dueAt: { $cond: [waits, now, { $ifNull: ['$dueAt', '$$REMOVE'] }] } } }],
        { sort: { 'position.number': 1 }, projection: { _id: 1 }, ...QUICK },
      ),
    );
    return next !== null;
  }

  /** Ends what has waited since `before` for functions that may not be given it. @returns the lines that go on */
  async endAbandoned(
    known: readonly RunnableFunction[],
    before: Date,
    error: RunError,
    now: Date,
  ): Promise<readonly string[]> {
    const abandoned: Document = {
      state: 'waiting',
      $or: [{ dueAt: { $lte: before } }, { dueAt: { $exists: false }, createdAt: { $lte: before } }],
      ...(known.length === 0 ? {} : { $nor: known.map(runsFor) }),
    };
    const change: Document = {
      $set: { state: 'failed', error, token: null, expireAt: runExpiry(now) },
      $unset: { dueAt: '', line: '' },
    };
    return await translated(async () => {
      const lines = await this.#runs.distinct('line', abandoned);
      await this.#runs.updateMany(abandoned, change);
      return lines.flatMap((line) => line ?? []);
    });
  }

  /** Whether a line has a run that has not ended, other than this one. */
  async isBusy(line: string, but: string): Promise<boolean> {
    const open = { line, _id: { $ne: but } } as const;
    return (await translated(() => this.#runs.findOne(open, { projection: { _id: 1 } }))) !== null;
  }
}

/** The runs that the code of a function may be given, as it is now. */
function runsFor({ plugin, function: name, readsAccounts }: RunnableFunction): Filter<RunRow> {
  return { plugin, function: name, ...(readsAccounts ? {} : { restricted: { $ne: true } }) };
}

/** The change that ends a run. It leaves its line, and is kept for its time. */
function ended(state: 'ok' | 'parked', fields: AttemptFields, now: Date): UpdateFilter<RunRow> {
  return { $set: { ...fields, state, token: null, expireAt: runExpiry(now) }, $unset: { dueAt: '', line: '' } };
}
