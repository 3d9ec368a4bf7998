/**
 * A lease: the right of one process to do something alone for a short time, by the clock of the database server. It
 * only saves work: a holder may be frozen and wake up late, so correctness must rest on unique keys instead.
 */
import type { Collection, Document } from 'mongodb';

interface LeaseDocument {
  _id: string;
  owner: string | null;
  term: number;
  until: Date;
}

export interface LeaseOptions {
  /** The collection of leases. */
  readonly collection: Collection<LeaseDocument>;
  /** Which lease of the collection. */
  readonly id: string;
  /** The name of the applicant: unique for each process and use. */
  readonly owner: string;
  /** How long one grant lasts, in milliseconds. */
  readonly ttlMs?: number;
  /** How often an acquired lease is renewed, in milliseconds. */
  readonly renewMs?: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** The holder of a lease, as stored. */
export interface LeaseState {
  readonly owner: string | null;
  readonly term: number;
  readonly until: Date;
}

export class Lease {
  readonly #options: Required<LeaseOptions>;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #term = 0;
  #createdAt = Number.NEGATIVE_INFINITY;
  #renewing: ReturnType<typeof setInterval> | undefined;
  /** Ends when no request is in progress. */
  #requesting: Promise<unknown> = Promise.resolve();
  #releases = 0;

  constructor(options: LeaseOptions) {
    this.#options = { ttlMs: 5000, renewMs: 1500, now: () => performance.now(), ...options };
  }

  /** Grows with every change of the holder. */
  get term(): number {
    return this.#term;
  }

  /** Whether we hold the lease, by the monotonic clock, counted from just before the last grant was requested. */
  held(): boolean {
    return this.#options.now() < this.#heldUntil;
  }

  /**
   * Requests or renews the lease once; true if we hold it now. An acquired lease is renewed until released or lost.
   * Throws the driver's errors.
   */
  acquire(): Promise<boolean> {
    const requested = this.#request();
    this.#requesting = Promise.allSettled([this.#requesting, requested]).then(() => undefined);
    return requested;
  }

  async #request(): Promise<boolean> {
    const releases = this.#releases;
    const { collection, id, owner, ttlMs, now } = this.#options;
    // Repeated until something is granted: a dropped collection has lost the document.
    if (!this.held() && now() - this.#createdAt >= ttlMs) {
      // Not an upsert below: the server rejects $expr in the filter of an upsert (error 224).
      await collection
        .updateOne({ _id: id }, { $setOnInsert: { owner: null, term: 0, until: new Date(0) } }, { upsert: true })
        .catch(ignoreDuplicate);
      this.#createdAt = now();
    }
    const requested = now();
    const mine = { $and: [{ $eq: ['$owner', owner] }, { $gte: ['$until', '$$NOW'] }] };
    const term = { $cond: [mine, '$term', { $add: ['$term', 1] }] };
    const until = { $add: ['$$NOW', ttlMs] };
    const granted = await collection.findOneAndUpdate(
      { _id: id, $or: [{ owner }, { $expr: { $lt: ['$until', '$$NOW'] } }] },
      [{ $set: { owner: { $literal: owner }, term, until } } satisfies Document],
      { returnDocument: 'after' },
    );
    if (granted === null) {
      this.#drop();
      return false;
    }
    if (releases !== this.#releases) {
      await this.#giveBack();
      return false;
    }
    this.#heldUntil = requested + ttlMs;
    this.#term = granted.term;
    this.#renewing ??= setInterval(() => this.#renew(), this.#options.renewMs).unref();
    return true;
  }

  /**
   * Releases the lease, so that the next holder need not wait for its end. It waits for a request in progress, such as
   * a renewal, because the database may grant it after the release.
   */
  async release(): Promise<void> {
    const wasHeld = this.held();
    this.#releases += 1;
    this.#drop();
    await this.#requesting;
    if (wasHeld) await this.#giveBack();
  }

  async #giveBack(): Promise<void> {
    const { collection, id, owner } = this.#options;
    await collection.updateOne({ _id: id, owner }, { $set: { until: new Date(0), owner: null } });
  }

  /** The current holder of the lease. */
  async state(): Promise<LeaseState | null> {
    return await this.#options.collection.findOne({ _id: this.#options.id }, { projection: { _id: 0 } });
  }

  #renew(): void {
    // A failed renewal needs no action: the grant ends by itself, and the next renewal may succeed before that.
    this.acquire().catch(() => {});
  }

  #drop(): void {
    clearInterval(this.#renewing);
    this.#renewing = undefined;
    this.#heldUntil = Number.NEGATIVE_INFINITY;
  }
}

function ignoreDuplicate(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 11000)) throw error;
}
