/**
 * Stores deliveries: `webhook_deliveries` and `webhook_bodies` in `<db>_log`. One command inserts, leases or completes
 * many. A lease is an update by the server's clock, so each delivery goes to one process only.
 */
import { type Collection, type Document, type IndexDescription, ObjectId } from 'mongodb';
import { withTranslatedErrors } from '../../../database/errors.ts';
import { insertNew } from '../../../database/insert-new.ts';
import type { Mongo } from '../../../database/mongo.ts';
import { DUE_INDEX, EXPIRY_INDEX, JobCollection, PENDING_JOBS_FILTER } from '../../../queue/job-collection.ts';
import type { AttemptTrigger } from '../sender.ts';
import {
  type DeliveryRow,
  type DueDelivery,
  deliveryExpiry,
  FINISHED_RETENTION_MS,
  MAX_STORED_ATTEMPTS,
  PENDING_RETENTION_MS,
  type StoredAttempt,
  type SvixMessageState,
} from './delivery-row.ts';

/** Each delivery writes all of them, so each has a reason here. */
const DELIVERY_INDEXES: readonly IndexDescription[] = [
  // Due deliveries by endpoint.
  { key: { endpoint: 1, dueAt: 1 }, partialFilterExpression: PENDING_JOBS_FILTER },
  DUE_INDEX,
  // The first delivery of each document, for ordered endpoints.
  {
    key: { endpoint: 1, document: 1, epoch: 1, number: 1 },
    partialFilterExpression: { ordered: true, ...PENDING_JOBS_FILTER },
  },
  // Lists: all, by endpoint, by state, by event.
  { key: { createdAt: -1, _id: -1 } },
  { key: { endpoint: 1, createdAt: -1, _id: -1 } },
  { key: { state: 1, createdAt: -1, _id: -1 } },
  { key: { event: 1 } },
  EXPIRY_INDEX,
];

interface BodyRow {
  _id: ObjectId;
  body: string;
  createdAt: Date;
}

/** The result of an attempt, for the row. */
export interface FinishedAttempt {
  readonly id: string;
  readonly token: string;
  /** When it ended, for the end of the delivery. */
  readonly at: Date;
  /** New attempts, oldest first. Svix may have none yet, or several. */
  readonly attempts: readonly StoredAttempt[];
  /** The new position in the schedule. */
  readonly attempt: number;
  /** What Svix reports; absent if unchanged, null if the delivery is to be submitted as if for the first time. */
  readonly handed?: SvixMessageState | null;
  /** When it is retried; null if it has ended. */
  readonly dueAt: Date | null;
  readonly state: 'pending' | 'succeeded' | 'failed';
}

/** A document of an endpoint with ordered deliveries. */
export interface DeliveryOrderingKey {
  readonly endpoint: string;
  readonly document: string;
}

export class DeliveryStore extends JobCollection<DeliveryRow> {
  readonly #mongo: Pick<Mongo, 'log'>;
  readonly #bodies: Collection<BodyRow>;
  readonly #offset: () => number;

  /** @param offset milliseconds by which the sender's clock is ahead of the server's; for tests */
  constructor(mongo: Pick<Mongo, 'log'>, offset: () => number) {
    super(mongo.log, 'webhook_deliveries');
    this.#mongo = mongo;
    this.#bodies = mongo.log.collection<BodyRow>('webhook_bodies');
    this.#offset = offset;
  }

  async start(): Promise<void> {
    await withTranslatedErrors(async () => {
      await this.rows.createIndexes([...DELIVERY_INDEXES]);
      await this.#bodies.createIndex({ createdAt: 1 }, { expireAfterSeconds: PENDING_RETENTION_MS / 1_000 });
    });
  }

  /** The server's time, in milliseconds since 1970. */
  async serverTime(): Promise<number> {
    const { localTime } = await withTranslatedErrors(() => this.#mongo.log.command({ hello: 1 }));
    return localTime.getTime();
  }

  /** Stores bodies that several deliveries share. @returns their ids */
  async insertBodies(bodies: readonly string[], now: Date): Promise<readonly ObjectId[]> {
    const rows = bodies.map((body) => ({ _id: new ObjectId(), body, createdAt: now }));
    await insertNew(this.#bodies, rows);
    return rows.map(({ _id }) => _id);
  }

  /** Makes ended deliveries due again with the body of a replay. Others stay unchanged. */
  async replay(rows: readonly DeliveryRow[]): Promise<void> {
    if (rows.length === 0) return;
    const updates = rows.map(({ _id, dueAt, body, bodyRef, ordered, expireAt }) => ({
      updateOne: {
        filter: { _id, dueAt: { $exists: false } },
        update: {
          $set: {
            ...again('replay'),
            dueAt,
            expireAt,
            ...(body === undefined ? { bodyRef } : { body }),
            ...(ordered === undefined ? {} : { ordered }),
          },
          $unset: { handed: '', ...(body === undefined ? { body: '' } : { bodyRef: '' }) },
          $inc: { round: 1 },
        } as Document,
      },
    }));
    await withTranslatedErrors(() => this.rows.bulkWrite(updates, { ordered: false }));
  }

  /** Of these endpoints, those with due deliveries. */
  async dueEndpoints(endpoints: readonly string[], now: Date): Promise<readonly string[]> {
    return await withTranslatedErrors(() =>
      this.rows.distinct('endpoint', { endpoint: { $in: [...endpoints] }, dueAt: { $lte: now } }),
    );
  }

  /** Finds due deliveries, the longest due first, up to a limit for each endpoint. */
  findDue(
    requested: readonly { readonly endpoint: string; readonly count: number }[],
    now: Date,
  ): Promise<DueDelivery[]> {
    const searches = requested.map(({ endpoint, count: limit }) => ({
      filter: { endpoint, dueAt: { $lte: now } },
      sort: { dueAt: 1 },
      limit,
    }));
    return this.findEach<DueDelivery>(searches, { attempts: 0 });
  }

  /** Leases deliveries that are still due, for a time. @returns those that this call has leased */
  async lease(rows: readonly DueDelivery[], token: string, leaseMs: number): Promise<readonly DueDelivery[]> {
    if (rows.length === 0) return [];
    const _id = { $in: rows.map((row) => row._id) };
    const now = { $add: ['$$NOW', this.#offset()] };
    return await withTranslatedErrors(async () => {
      const { modifiedCount } = await this.rows.updateMany(
        { _id, dueAt: { $exists: true }, $expr: { $lte: ['$dueAt', now] } },
        [{ $set: { token: { $literal: token }, dueAt: { $add: [now, leaseMs] } } }, { $unset: 'held' }],
      );
      if (modifiedCount === rows.length) return rows;
      const mine = await this.rows.find({ _id, token }, { projection: { _id: 1 } }).toArray();
      const ids = new Set(mine.map((row) => row._id));
      return rows.filter((row) => ids.has(row._id));
    });
  }

  /** The shared bodies of deliveries, by their ids as text. */
  async bodies(ids: readonly ObjectId[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await withTranslatedErrors(() => this.#bodies.find({ _id: { $in: [...ids] } }).toArray());
    return new Map(rows.map(({ _id, body }) => [_id.toHexString(), body]));
  }

  /** Releases leased deliveries that were not attempted. */
  async releaseLease(
    rows: readonly { readonly id: string; readonly token: string; readonly dueAt: Date; readonly held: boolean }[],
  ): Promise<void> {
    const updates = rows.map(({ id, token, dueAt, held }) => ({
      q: { _id: id, token, state: 'pending' },
      u: { $set: { token: null, dueAt, ...(held ? { held } : {}) } },
    }));
    await this.updateEach(updates);
  }

  /** Records attempts, if this process still holds their leases. @returns how many were recorded */
  async finish(all: readonly FinishedAttempt[]): Promise<number> {
    return await this.updateEach(
      all.map(({ id, token, at, attempts, attempt, dueAt, state, handed }) => {
        const kept = {
          $inc: { count: attempts.length, ...(handed === null ? { round: 1 } : {}) },
          $push: { attempts: { $each: attempts, $slice: -MAX_STORED_ATTEMPTS } },
        };
        const set = { token: null, attempt, ...(handed ? { handed } : {}) };
        const unset = handed === null ? { handed: '' } : {};
        // What was canceled meanwhile, because the endpoint was disabled, is not to be tried again.
        if (dueAt !== null) {
          return { q: { _id: id, token, state: 'pending' }, u: { $set: { dueAt, ...set }, $unset: unset, ...kept } };
        }
        const ended = { state, ...set, finishedAt: at, expireAt: deliveryExpiry(at.getTime(), FINISHED_RETENTION_MS) };
        return { q: { _id: id, token }, u: { $set: ended, $unset: { dueAt: '', ...unset }, ...kept } };
      }),
    );
  }

  /** The first pending delivery of each document. */
  firstPending(
    lines: readonly DeliveryOrderingKey[],
  ): Promise<readonly Pick<DueDelivery, '_id' | 'endpoint' | 'document' | 'dueAt'>[]> {
    const searches = lines.map(({ endpoint, document }) => ({
      filter: { endpoint, document, ordered: true, ...PENDING_JOBS_FILTER },
      sort: { epoch: 1, number: 1 },
      limit: 1,
    }));
    return this.findEach<DueDelivery>(searches, { endpoint: 1, document: 1, dueAt: 1 });
  }

  /** Makes deliveries due that wait for an earlier one of their document. */
  async release(ids: readonly string[], now: Date): Promise<void> {
    if (ids.length === 0) return;
    const held = { _id: { $in: [...ids] }, held: true } as const;
    await withTranslatedErrors(() => this.rows.updateMany(held, { $set: { dueAt: now }, $unset: { held: '' } }));
  }

  /** Cancels what is pending for an endpoint. A try that is under way is still recorded when it succeeds. */
  async discard(endpoint: string, now: Date): Promise<void> {
    const expireAt = deliveryExpiry(now.getTime(), FINISHED_RETENTION_MS);
    await withTranslatedErrors(() =>
      this.rows.updateMany(
        { endpoint, ...PENDING_JOBS_FILTER },
        { $set: { state: 'canceled', finishedAt: now, expireAt }, $unset: { dueAt: '', held: '' } },
      ),
    );
  }

  /** Makes a delivery due, unless a process is attempting it. @returns whether one has this id */
  async resend(id: string, now: Date): Promise<boolean> {
    const set = { $set: again('resend', now), ...REPORTED_AGAIN };
    const { matchedCount } = await withTranslatedErrors(() =>
      this.rows.updateOne({ _id: id, $or: [{ dueAt: { $exists: false } }, { token: null }] }, set),
    );
    return (
      matchedCount === 1 ||
      (await withTranslatedErrors(() => this.rows.countDocuments({ _id: id }, { limit: 1 }))) === 1
    );
  }

  /**
   * Makes the failed and canceled deliveries of an endpoint due that were created since a time.
   * @param but types whose deliveries stay as they are
   * @returns how many
   */
  async recover(endpoint: string, since: Date, but: readonly string[], now: Date): Promise<number> {
    const types = but.length === 0 ? {} : { type: { $nin: [...but] } };
    const which = {
      endpoint,
      createdAt: { $gte: since },
      state: { $in: ['failed', 'canceled'] },
      ...types,
    } as Document;
    const set = { $set: again('recover', now), ...REPORTED_AGAIN };
    return (await withTranslatedErrors(() => this.rows.updateMany(which, set))).modifiedCount;
  }

  /** Pending deliveries by endpoint. */
  async pending(endpoints: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await withTranslatedErrors(() =>
      this.rows
        .aggregate<{ _id: string; count: number }>([
          // Answered from the index alone.
          { $match: { endpoint: { $in: [...endpoints] }, dueAt: { $gt: new Date(0) } } },
          { $group: { _id: '$endpoint', count: { $sum: 1 } } },
        ])
        .toArray(),
    );
    return new Map(rows.map(({ _id, count }) => [_id, count]));
  }
}

/** If Svix has accepted the delivery, it is submitted again. */
const REPORTED_AGAIN = { $unset: { 'handed.since': '' }, $inc: { round: 1 } } as const;

/** Makes a delivery pending again, with all its attempts available. */
function again(trigger: AttemptTrigger, dueAt?: Date): Partial<DeliveryRow> {
  const set = { state: 'pending', token: null, attempt: 0, trigger, finishedAt: null } as const;
  return dueAt === undefined ? set : { ...set, dueAt, expireAt: deliveryExpiry(dueAt.getTime(), PENDING_RETENTION_MS) };
}
