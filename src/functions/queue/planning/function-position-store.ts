/**
 * Since when functions stand in the queue, in `<db>_log.function_positions`: the place in the log after which a trigger counts,
 * and the last time that was planned for a cron. A function that is no longer active has no entry.
 */
import type { Collection, Db } from 'mongodb';
import { withTranslatedErrors } from '../../../database/errors.ts';
import type { Mongo } from '../../../database/mongo.ts';
import type { LogPosition } from '../../../events/log/position.ts';

interface TriggerStart {
  readonly _id: string;
  readonly kind: 'trigger';
  /** The trigger receives rows after this number. */
  readonly from: number;
}

export interface CronPosition {
  /** `plugin/name` */
  readonly _id: string;
  readonly kind: 'cron';
  readonly schedule: string;
  readonly timeZone: string;
  /** The last planned time, or the activation time of the function. */
  readonly at: Date;
}

export class FunctionPositionStore {
  readonly #startPositions: Collection<TriggerStart | CronPosition>;
  readonly #log: Db;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#log = log;
    this.#startPositions = log.collection<TriggerStart | CronPosition>('function_positions');
  }

  /** The start position of each trigger, as a row number. */
  async triggers(): Promise<ReadonlyMap<string, number>> {
    const rows = await withTranslatedErrors(() => this.#startPositions.find({ kind: 'trigger' }).toArray());
    return new Map(rows.flatMap((row) => (row.kind === 'trigger' ? [[row._id, row.from] as const] : [])));
  }

  async cronJobs(): Promise<ReadonlyMap<string, CronPosition>> {
    const rows = await withTranslatedErrors(() => this.#startPositions.find({ kind: 'cron' }).toArray());
    return new Map(rows.flatMap((row) => (row.kind === 'cron' ? [[row._id, row] as const] : [])));
  }

  async put(row: TriggerStart | CronPosition): Promise<void> {
    await withTranslatedErrors(() => this.#startPositions.replaceOne({ _id: row._id }, row, { upsert: true }));
  }

  /** Records a planned time of a cron job, unless another process has recorded one since. */
  async passed({ _id, at }: CronPosition, planned: Date): Promise<void> {
    await withTranslatedErrors(() => this.#startPositions.updateOne({ _id, at }, { $set: { at: planned } }));
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await withTranslatedErrors(() => this.#startPositions.deleteMany({ _id: { $in: [...ids] } }));
  }

  /** Moves the consumer of this name to a position of the log. */
  async setCursor(consumer: string, { epoch, number }: LogPosition): Promise<void> {
    const cursors = this.#log.collection<LogPosition & { readonly _id: string }>('consumers');
    await withTranslatedErrors(() =>
      cursors.updateOne({ _id: consumer }, { $set: { epoch, number } }, { upsert: true }),
    );
  }

  async removeCursor(consumer: string): Promise<void> {
    const cursors = this.#log.collection<{ readonly _id: string }>('consumers');
    await withTranslatedErrors(() => cursors.deleteOne({ _id: consumer }));
  }
}
