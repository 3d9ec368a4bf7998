/**
 * Since when functions stand in the queue, in `<db>_log.function_standing`: the place in the log after which a trigger counts,
 * and the last time that was planned for a cron. A function that is no longer in force has no entry. Not here: runs
 * (queue-store.ts).
 */
import type { Collection, Db } from 'mongodb';
import { translated } from '../../../../database/errors.ts';
import type { Mongo } from '../../../../database/mongo.ts';
import type { LogPosition } from '../../../../events/log/position.ts';

interface StandingTrigger {
  readonly _id: string;
  readonly kind: 'trigger';
  /** Number of the row after which it counts. */
  readonly from: number;
}

export interface StandingCron {
  /** `plugin/name` */
  readonly _id: string;
  readonly kind: 'cron';
  readonly schedule: string;
  readonly timeZone: string;
  /** The last time that was planned, or the moment at which the function came into force. */
  readonly at: Date;
}

export class StandingStore {
  readonly #standing: Collection<StandingTrigger | StandingCron>;
  readonly #log: Db;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#log = log;
    this.#standing = log.collection<StandingTrigger | StandingCron>('function_standing');
  }

  /** For each trigger the number of the row after which it counts. */
  async triggers(): Promise<ReadonlyMap<string, number>> {
    const rows = await translated(() => this.#standing.find({ kind: 'trigger' }).toArray());
    return new Map(rows.flatMap((row) => (row.kind === 'trigger' ? [[row._id, row.from] as const] : [])));
  }

  async crons(): Promise<ReadonlyMap<string, StandingCron>> {
    const rows = await translated(() => this.#standing.find({ kind: 'cron' }).toArray());
    return new Map(rows.flatMap((row) => (row.kind === 'cron' ? [[row._id, row] as const] : [])));
  }

  async put(row: StandingTrigger | StandingCron): Promise<void> {
    await translated(() => this.#standing.replaceOne({ _id: row._id }, row, { upsert: true }));
  }

  /** Notes that a time of a cron is planned, unless another process has noted one since. */
  async passed({ _id, at }: StandingCron, planned: Date): Promise<void> {
    await translated(() => this.#standing.updateOne({ _id, at }, { $set: { at: planned } }));
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await translated(() => this.#standing.deleteMany({ _id: { $in: [...ids] } }));
  }

  /** Lets the consumer of this name begin at a place of the log, wherever it was before. */
  async placeCursor(consumer: string, { epoch, number }: LogPosition): Promise<void> {
    const cursors = this.#log.collection<LogPosition & { readonly _id: string }>('consumers');
    await translated(() => cursors.updateOne({ _id: consumer }, { $set: { epoch, number } }, { upsert: true }));
  }

  async removeCursor(consumer: string): Promise<void> {
    const cursors = this.#log.collection<{ readonly _id: string }>('consumers');
    await translated(() => cursors.deleteOne({ _id: consumer }));
  }
}
