/**
 * A lease: the right of one process to do something alone for a short time, by the clock of the database server. It
 * only saves work: a process that holds it may be frozen and wake up late, so correctness must rest on unique keys
 * instead. Not here: what the holder does with it.
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
  /** How often a held lease is renewed, in milliseconds. */
  readonly renewMs?: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** The holder of a lease, as the database has it. */
export interface LeaseState {
  readonly owner: string | null;
  readonly term: number;
  readonly until: Date;
}

export class Lease {
  readonly #options: Required<LeaseOptions>;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #term = 0;
  #madeAt = Number.NEGATIVE_INFINITY;
  #renewing: ReturnType<typeof setInterval> | undefined;
  /** Ends when no request is under way. */
  #asking: Promise<unknown> = Promise.resolve();
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
   * Requests the lease once, or renews it; true when we hold it now. A held lease is renewed until released or lost.
   * Throws the driver's errors.
   */
  acquire(): Promise<boolean> {
    const asked = this.#ask();
    this.#asking = Promise.allSettled([this.#asking, asked]).then(() => undefined);
    return asked;
  }

  async #ask(): Promise<boolean> {
    const releases = this.#releases;
    const { collection, id, owner, ttlMs, now } = this.#options;
    // Repeated as long as nothing is granted: the document is gone when the collection has been dropped.
    if (!this.held() && now() - this.#madeAt >= ttlMs) {
      // Not an upsert below: $expr is refused in the filter of an upsert (error 224).
      await collection
        .updateOne({ _id: id }, { $setOnInsert: { owner: null, term: 0, until: new Date(0) } }, { upsert: true })
        .catch(ignoreDuplicate);
      this.#madeAt = now();
    }
    const asked = now();
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
    this.#heldUntil = asked + ttlMs;
    this.#term = granted.term;
    this.#renewing ??= setInterval(() => this.#renew(), this.#options.renewMs).unref();
    return true;
  }

  /**
   * Gives the lease back, so that the next holder need not wait for its end. A request that is under way, such as a renewal,
   * is waited for, because the database may grant it after the lease was given back.
   */
  async release(): Promise<void> {
    const wasHeld = this.held();
    this.#releases += 1;
    this.#drop();
    await this.#asking;
    if (wasHeld) await this.#giveBack();
  }

  async #giveBack(): Promise<void> {
    const { collection, id, owner } = this.#options;
    await collection.updateOne({ _id: id, owner }, { $set: { until: new Date(0), owner: null } });
  }

  /** The present holder of the lease. */
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
