/** Stores replays and their progress in `<db>_log.webhook_replays`. Only this folder uses it. */
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import { newId } from '../../database/json/ids.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { ReplayState } from './replay-types.ts';

/** How long an ended replay can be read, in milliseconds. */
const RETENTION_MS = 30 * 24 * 3_600_000;

export interface ReplayRecord {
  readonly _id: string;
  readonly endpoint: string;
  readonly state: ReplayState;
  /** Additional filter by event types; `*` is a wildcard; null for all. */
  readonly types: readonly string[] | null;
  /** The last row of the log to replay. */
  readonly until: LogPosition;
  /** The last row that is done. */
  readonly position: LogPosition;
  /** Submitted deliveries. */
  readonly sent: number;
  readonly createdAt: Date;
  readonly expireAt?: Date;
}

export class ReplayStore {
  readonly #replays: Collection<ReplayRecord>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#replays = log.collection<ReplayRecord>('webhook_replays');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() => this.#replays.createIndex({ expireAt: 1 }, { expireAfterSeconds: 0 }));
  }

  async insert(replay: Pick<ReplayRecord, 'endpoint' | 'types' | 'until' | 'position'>): Promise<ReplayRecord> {
    const { endpoint, types, until, position } = replay;
    const kept: ReplayRecord = {
      _id: newId().toHexString(),
      endpoint,
      state: 'running',
      types,
      until: { epoch: until.epoch, number: until.number },
      position: { epoch: position.epoch, number: position.number },
      sent: 0,
      createdAt: new Date(),
    };
    await withTranslatedErrors(() => this.#replays.insertOne(kept));
    return kept;
  }

  find(id: string): Promise<ReplayRecord | null> {
    return withTranslatedErrors(() => this.#replays.findOne({ _id: id }));
  }

  /** Unfinished replays, oldest first. */
  running(): Promise<ReplayRecord[]> {
    return withTranslatedErrors(() =>
      this.#replays.find({ state: 'running' }, { sort: { createdAt: 1, _id: 1 } }).toArray(),
    );
  }

  /**
   * Stores the progress of a replay.
   * @param before the replay as last read
   * @returns the replay after the change; null if another process has moved it on
   */
  saveProgress(
    before: ReplayRecord,
    to: Pick<ReplayRecord, 'position' | 'sent' | 'state'>,
  ): Promise<ReplayRecord | null> {
    const position = { epoch: to.position.epoch, number: to.position.number };
    const { _id } = before;
    const known = {
      _id,
      state: before.state,
      'position.epoch': before.position.epoch,
      'position.number': before.position.number,
    };
    const end = to.state === 'running' ? {} : { expireAt: new Date(Date.now() + RETENTION_MS) };
    return withTranslatedErrors(() =>
      this.#replays.findOneAndUpdate(
        known,
        { $set: { position, sent: to.sent, state: to.state, ...end } },
        { returnDocument: 'after' },
      ),
    );
  }
}
