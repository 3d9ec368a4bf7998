/**
 * Audit entries that change no document: failed sign-ins, revocations, rotated keys. Each becomes a document of
 * `_activity`, and so an event, within a second and in every process.
 */
import { type ClientSession, type Collection, ObjectId } from 'mongodb';
import type { DetailsOf, Occurrence } from '../lib/event-types.ts';
import { translated } from './errors.ts';
import type { Mongo } from './mongo.ts';
import { makeOwnCollection, newMeta, type OwnMeta, type Stamp } from './system-collection.ts';

const ACTIVITY = '_activity';

/** How long documents are kept; the event log and the audit have their own retention. */
const RETENTION_MS = 30 * 24 * 3_600_000;

interface ActivityRow {
  readonly _id: string;
  readonly type: Occurrence;
  readonly details: Readonly<Record<string, string | null>>;
  readonly _meta: OwnMeta;
}

export class Activity {
  readonly #mongo: Pick<Mongo, 'data'>;
  readonly #rows: Collection<ActivityRow>;
  readonly #now: () => number;

  constructor(mongo: Pick<Mongo, 'data'>, now: () => number = Date.now) {
    this.#mongo = mongo;
    this.#rows = mongo.data.collection<ActivityRow>(ACTIVITY);
    this.#now = now;
  }

  async start(): Promise<void> {
    await makeOwnCollection(this.#mongo, ACTIVITY, [{ key: { '_meta.createdAt': 1 } }]);
  }

  /**
   * @param details without secrets: every reader of the events sees them
   * @param session of the transaction that contains the occurrence
   */
  async record<T extends Occurrence>(
    type: T,
    details: DetailsOf<T>,
    stamp: Stamp,
    session?: ClientSession,
  ): Promise<void> {
    const row = this.#row(type, details, stamp);
    await translated(() => this.#rows.insertOne(row, session === undefined ? {} : { session }));
  }

  /** The same for several entries of one type, by one command. */
  async recordAll<T extends Occurrence>(type: T, all: readonly DetailsOf<T>[], stamp: Stamp): Promise<void> {
    if (all.length === 0) return;
    const rows = all.map((details) => this.#row(type, details, stamp));
    await translated(() => this.#rows.insertMany(rows, { ordered: false }));
  }

  #row<T extends Occurrence>(type: T, details: DetailsOf<T>, stamp: Stamp): ActivityRow {
    return { _id: new ObjectId().toHexString(), type, details, _meta: newMeta(stamp, new Date(this.#now())) };
  }

  /** Deletes expired documents; that is no event. */
  async orphanCleanup(): Promise<void> {
    const time = new Date(this.#now() - RETENTION_MS);
    await translated(() => this.#rows.deleteMany({ '_meta.createdAt': { $lt: time } }));
  }
}
