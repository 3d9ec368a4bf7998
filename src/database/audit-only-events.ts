/**
 * Audit entries that change no document: failed sign-ins, revocations, rotated keys. Each becomes a document of
 * `_activity`, and so an event, within a second and in every process.
 */
import { type ClientSession, type Collection, ObjectId } from 'mongodb';
import type { AuditEventDetails, AuditEventType } from '../lib/event-types.ts';
import { withTranslatedErrors } from './errors.ts';
import type { Mongo } from './mongo.ts';
import {
  type ChangeStamp,
  ensureSystemCollection,
  newDocumentMeta,
  type SystemDocumentMeta,
} from './system-collection.ts';

const ACTIVITY = '_activity';

/** How long documents are kept; the event log and the audit have their own retention. */
const RETENTION_MS = 30 * 24 * 3_600_000;

interface ActivityRow {
  readonly _id: string;
  readonly type: AuditEventType;
  readonly details: Readonly<Record<string, string | null>>;
  readonly _meta: SystemDocumentMeta;
}

export class AuditEvents {
  readonly #mongo: Pick<Mongo, 'data'>;
  readonly #rows: Collection<ActivityRow>;
  readonly #now: () => number;

  constructor(mongo: Pick<Mongo, 'data'>, now: () => number = Date.now) {
    this.#mongo = mongo;
    this.#rows = mongo.data.collection<ActivityRow>(ACTIVITY);
    this.#now = now;
  }

  async start(): Promise<void> {
    await ensureSystemCollection(this.#mongo, ACTIVITY, [{ key: { '_meta.createdAt': 1 } }]);
  }

  /**
   * @param details without secrets: every reader of the events sees them
   * @param session of the transaction that contains the occurrence
   */
  async record<T extends AuditEventType>(
    type: T,
    details: AuditEventDetails<T>,
    stamp: ChangeStamp,
    session?: ClientSession,
  ): Promise<void> {
    const row = this.#row(type, details, stamp);
    await withTranslatedErrors(() => this.#rows.insertOne(row, session === undefined ? {} : { session }));
  }

  /** The same for several entries of one type, by one command. */
  async recordAll<T extends AuditEventType>(
    type: T,
    all: readonly AuditEventDetails<T>[],
    stamp: ChangeStamp,
  ): Promise<void> {
    if (all.length === 0) return;
    const rows = all.map((details) => this.#row(type, details, stamp));
    await withTranslatedErrors(() => this.#rows.insertMany(rows, { ordered: false }));
  }

  #row<T extends AuditEventType>(type: T, details: AuditEventDetails<T>, stamp: ChangeStamp): ActivityRow {
    return { _id: new ObjectId().toHexString(), type, details, _meta: newDocumentMeta(stamp, new Date(this.#now())) };
  }

  /** Deletes expired documents; that is no event. */
  async deleteExpired(): Promise<void> {
    const time = new Date(this.#now() - RETENTION_MS);
    await withTranslatedErrors(() => this.#rows.deleteMany({ '_meta.createdAt': { $lt: time } }));
  }
}
