/**
 * Replays in `<db>_log.webhook_replays`: what was asked for, and how far it is done. Only this folder calls it. Not here:
 * making the deliveries (replays.ts).
 */
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import { newId } from '../../database/json/ids.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { ReplayState } from './replay.ts';

/** For how long a replay that has ended can be looked up, in milliseconds. */
const KEPT_MS = 30 * 24 * 3_600_000;

export interface KeptReplay {
  readonly _id: string;
  readonly endpoint: string;
  readonly state: ReplayState;
  /** Event types besides those of the endpoint, in which `*` stands for anything; null for all. */
  readonly types: readonly string[] | null;
  /** The last row of the log that is replayed. */
  readonly until: LogPosition;
  /** The row up to which it is done. */
  readonly place: LogPosition;
  /** Deliveries that were submitted. */
  readonly sent: number;
  readonly createdAt: Date;
  readonly expireAt?: Date;
}

export class ReplayStore {
  readonly #replays: Collection<KeptReplay>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#replays = log.collection<KeptReplay>('webhook_replays');
  }

  async start(): Promise<void> {
    await translated(() => this.#replays.createIndex({ expireAt: 1 }, { expireAfterSeconds: 0 }));
  }

  async insert(replay: Pick<KeptReplay, 'endpoint' | 'types' | 'until' | 'place'>): Promise<KeptReplay> {
    const { endpoint, types, until, place } = replay;
    const kept: KeptReplay = {
      _id: newId().toHexString(),
      endpoint,
      state: 'running',
      types,
      until: { epoch: until.epoch, number: until.number },
      place: { epoch: place.epoch, number: place.number },
      sent: 0,
      createdAt: new Date(),
    };
    await translated(() => this.#replays.insertOne(kept));
    return kept;
  }

  find(id: string): Promise<KeptReplay | null> {
    return translated(() => this.#replays.findOne({ _id: id }));
  }

  /** Those that are not done, the oldest first. */
  running(): Promise<KeptReplay[]> {
    return translated(() => this.#replays.find({ state: 'running' }, { sort: { createdAt: 1, _id: 1 } }).toArray());
  }

  /**
   * Notes how far a replay is done.
   * @param before the replay as it was known
   * @returns the replay as it is now; null when another process has moved it on
   */
  move(before: KeptReplay, to: Pick<KeptReplay, 'place' | 'sent' | 'state'>): Promise<KeptReplay | null> {
    const place = { epoch: to.place.epoch, number: to.place.number };
    const { _id } = before;
    const known = { _id, state: before.state, 'place.epoch': before.place.epoch, 'place.number': before.place.number };
    const end = to.state === 'running' ? {} : { expireAt: new Date(Date.now() + KEPT_MS) };
    return translated(() =>
      this.#replays.findOneAndUpdate(
        known,
        { $set: { place, sent: to.sent, state: to.state, ...end } },
        { returnDocument: 'after' },
      ),
    );
  }
}
