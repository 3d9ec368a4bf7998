/**
 * The queued runs in `<db>_log.runs`: due runs, leases, and completion. A pending run has a due time, unless it waits
 * for an earlier run of its FIFO group; a running one has a token, and only the holder of the token can complete it.
 */
import type { ClientSession, Document, Filter, IndexDescription, UpdateFilter } from 'mongodb';
import { withTranslatedErrors } from '../../../database/errors.ts';
import type { Mongo } from '../../../database/mongo.ts';
import { ACCOUNT_EVENT_TYPES } from '../../../lib/event-types.ts';
import { DUE_INDEX, JobCollection, PENDING_JOBS_FILTER } from '../../../queue/job-collection.ts';
import type { RunError } from '../../runs/run.ts';
import { RUNS_COLLECTION, type RunRow, runExpiry } from '../../runs/run-row.ts';
import { JOB_INDEXES } from './pending-job-store.ts';

const INDEXES: readonly IndexDescription[] = [
  // Due runs by function.
  { key: { plugin: 1, function: 1, dueAt: 1 }, partialFilterExpression: PENDING_JOBS_FILTER },
  DUE_INDEX,
  // The first run of a FIFO group. A run leaves the group when it has ended.
  { key: { line: 1, 'position.number': 1 }, partialFilterExpression: { line: { $exists: true } } },
  ...JOB_INDEXES,
];

/** An event about users: the input begins with its id and type. */
const OF_USERS = `^\\{"id":"[\\d-]+","type":"(?:${ACCOUNT_EVENT_TYPES.map((type) => type.replaceAll('.', '\\.')).join('|')})"`;

/**
 * A lease that a crash of the database rolls back is taken again, so it need not wait for the other replica set
 * members.
 */
const ONE_MEMBER = { w: 1 } as const;

/** A function, as runs name it. */
export interface FunctionRef {
  readonly plugin: string;
  readonly function: string;
}

/** The active version of a function, and the runs that it may receive. */
export interface RunnableFunction extends FunctionRef {
  /** Whether its code may read users. If not, restricted runs wait for a version that may. */
  readonly readsUsers: boolean;
}

export interface DueRun extends FunctionRef {
  readonly _id: string;
}

/** The fields that an attempt sets in its run. */
export type AttemptResultFields = Pick<
  RunRow,
  'durationMs' | 'cpuMs' | 'error' | 'logs' | 'operations' | 'result' | 'resultBytes'
>;

export class QueueStore extends JobCollection<RunRow> {
  #prepared: Promise<void> | null = null;

  constructor({ log }: Pick<Mongo, 'log'>) {
    super(log, RUNS_COLLECTION);
  }

  /** Creates the indexes, once. Called when a function needs the queue. */
  prepare(): Promise<void> {
    this.#prepared ??= withTranslatedErrors(() => this.#prepare()).catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  async #prepare(): Promise<void> {
    await this.rows.createIndexes([...INDEXES]);
    // Earlier versions did not record whether a run is restricted.
    const former = { state: { $in: ['pending', 'running'] }, kind: 'trigger', restricted: { $exists: false } } as const;
    const restricted = { $regexMatch: { input: { $ifNull: ['$input', ''] }, regex: OF_USERS } };
    await this.rows.updateMany(former, [{ $set: { restricted } }]);
  }

  /** Makes the first unfinished run of each FIFO group due, unless it has a due time already. */
  async releaseHeads(lines: readonly string[], now: Date): Promise<void> {
    const heads = lines.map((line) => ({ filter: { line }, sort: { 'position.number': 1 }, limit: 1 }));
    await this.#makeDue(await this.findEach<DueRun>(heads, { _id: 1 }), now);
  }

  /** The same for all FIFO groups, when a process starts to run the queue. */
  async releaseAllHeads(now: Date): Promise<void> {
    const heads = [
      { $match: { line: { $exists: true } } },
      { $sort: { line: 1, 'position.number': 1 } },
      { $group: { _id: '$line', head: { $first: '$_id' } } },
      { $project: { _id: '$head' } },
    ];
    const found = this.rows.aggregate<DueRun>(heads, { allowDiskUse: true });
    await this.#makeDue(await withTranslatedErrors(() => found.toArray()), now);
  }

  async #makeDue(found: readonly Pick<DueRun, '_id'>[], now: Date): Promise<void> {
    if (found.length === 0) return;
    const held = { _id: { $in: found.map(({ _id }) => _id) }, state: 'pending', dueAt: { $exists: false } } as const;
    await withTranslatedErrors(() =>
      this.rows.updateMany(held, { $set: { dueAt: now } }, { writeConcern: ONE_MEMBER }),
    );
  }

  /** The due runs of each function, the longest due first, up to a limit for each. */
  due(functions: readonly RunnableFunction[], now: Date, limit: number): Promise<readonly DueRun[]> {
    const filterOf = (fn: RunnableFunction) => ({ ...runsFor(fn), dueAt: { $lte: now } });
    const searches = functions.map((fn) => ({ filter: filterOf(fn), sort: { dueAt: 1 }, limit }));
    return this.findEach<DueRun>(searches, { plugin: 1, function: 1 });
  }

  /**
   * Leases a due run, and starts its attempt. The lease has no end: one process runs the queue, and the next one takes
   * over what it finds running.
   * @returns null if the run is no longer due
   */
  claim(id: string, token: string, fn: RunnableFunction, version: string, now: Date): Promise<RunRow | null> {
    const $set = { state: 'running', token, version, startedAt: now };
    const lease = { $set, $inc: { attempts: 1 }, $unset: { dueAt: '' } };
    return this.leaseOne({ _id: id, ...runsFor(fn) }, now, lease, ONE_MEMBER);
  }

  /** Whether this token still holds the run. */
  async holdsLease(id: string, token: string): Promise<boolean> {
    return (
      (await withTranslatedErrors(() => this.rows.findOne({ _id: id, token }, { projection: { _id: 1 } }))) !== null
    );
  }

  /**
   * Completes a successful run in the transaction of its writes.
   * @returns false if another process has leased the run: then the transaction must not be committed
   */
  async succeed(
    session: ClientSession,
    id: string,
    token: string,
    fields: AttemptResultFields,
    now: Date,
  ): Promise<boolean> {
    const { matchedCount } = await this.rows.updateOne({ _id: id, token }, ended('succeeded', fields, now), {
      session,
    });
    return matchedCount === 1;
  }

  /**
   * Records a failed attempt.
   * @param dueAt the time of the next attempt; null if the run has failed
   * @returns whether the token still held the run
   */
  async fail(id: string, token: string, fields: AttemptResultFields, dueAt: Date | null, now: Date): Promise<boolean> {
    const change: UpdateFilter<RunRow> =
      dueAt === null ? ended('failed', fields, now) : { $set: { ...fields, state: 'pending', token: null, dueAt } };
    return await this.updateLeased({ _id: id, token }, change);
  }

  /**
   * Releases a run whose attempt did not start or end, through no fault of its function: the attempt does not count.
   * @param isInterrupted whether it had started
   */
  async releaseRun(id: string, token: string, dueAt: Date, isInterrupted: boolean): Promise<void> {
    const $inc = { attempts: -1, ...(isInterrupted ? { interruptions: 1 } : {}) };
    const change = { $set: { state: 'pending', token: null, dueAt }, $inc } as const;
    await this.updateLeased({ _id: id, token }, change);
  }

  /** The running runs, except those of this process. */
  async findAbandoned(own: readonly string[]): Promise<readonly RunRow[]> {
    return await withTranslatedErrors(() =>
      this.rows.find({ state: 'running', token: { $nin: [null, ...own] } }).toArray(),
    );
  }

  /**
   * Makes the next run of a FIFO group due, after the previous one has ended.
   * @returns whether there is one
   */
  async releaseNext(line: string, now: Date): Promise<boolean> {
    const waits = { $and: [{ $eq: ['$state', 'pending'] }, { $eq: [{ $type: '$dueAt' }, 'missing'] }] };
    const next = await withTranslatedErrors(() =>
      this.rows.findOneAndUpdate(
        { line },
        [{ $set: { dueAt: { $cond: [waits, now, { $ifNull: ['$dueAt', '$$REMOVE'] }] } } }],
        { sort: { 'position.number': 1 }, projection: { _id: 1 }, writeConcern: ONE_MEMBER },
      ),
    );
    return next !== null;
  }

  /**
   * Fails runs that have waited since `before` for a function that may receive them.
   * @returns the FIFO groups that continue
   */
  async endAbandoned(
    known: readonly RunnableFunction[],
    before: Date,
    error: RunError,
    now: Date,
  ): Promise<readonly string[]> {
    const abandoned: Document = {
      state: 'pending',
      $or: [{ dueAt: { $lte: before } }, { dueAt: { $exists: false }, createdAt: { $lte: before } }],
      ...(known.length === 0 ? {} : { $nor: known.map(runsFor) }),
    };
    const change: Document = {
      $set: { state: 'failed', error, token: null, expireAt: runExpiry(now) },
      $unset: { dueAt: '', line: '' },
    };
    return await withTranslatedErrors(async () => {
      const lines = await this.rows.distinct('line', abandoned);
      await this.rows.updateMany(abandoned, change);
      return lines.flatMap((line) => line ?? []);
    });
  }

  /** Whether a FIFO group has another unfinished run. */
  async isBusy(line: string, but: string): Promise<boolean> {
    const open = { line, _id: { $ne: but } } as const;
    return (await withTranslatedErrors(() => this.rows.findOne(open, { projection: { _id: 1 } }))) !== null;
  }
}

/** The runs that the active version of a function may receive. */
function runsFor({ plugin, function: name, readsUsers }: RunnableFunction): Filter<RunRow> {
  return { plugin, function: name, ...(readsUsers ? {} : { restricted: { $ne: true } }) };
}

/** The update that ends a run. It leaves its FIFO group, and is kept for the retention time. */
function ended(state: 'succeeded' | 'failed', fields: AttemptResultFields, now: Date): UpdateFilter<RunRow> {
  return { $set: { ...fields, state, token: null, expireAt: runExpiry(now) }, $unset: { dueAt: '', line: '' } };
}
