/**
 * State of an endpoint that all processes share: its breaker, its failures, and its rate slots. One row each in
 * `webhook_health`, which makes no event.
 */
import type { Collection, Document } from 'mongodb';
import { withTranslatedErrors } from '../../../database/errors.ts';
import type { Mongo } from '../../../database/mongo.ts';
import type { OpenBreakerState } from '../breaker.ts';

export interface HealthRow {
  /** Id of the endpoint. */
  _id: string;
  /** Set while the breaker is open. */
  openUntil?: Date;
  pauseMs?: number;
  /** Set while a process sends the probe; `openUntil` is its deadline for that. */
  probing?: true;
  lastSuccessAt?: Date;
  lastFailureAt?: Date;
  failingSince?: Date;
  /** The first free rate slot of an endpoint with a rate. */
  nextSlot?: Date;
}

/** The result of a batch of attempts for an endpoint. */
export interface HealthUpdate {
  lastSuccessAt: Date | null;
  lastFailureAt: Date | null;
  /** The first failure after the last success of the batch; null if its last attempt succeeded. */
  failingSince: Date | null;
  /** The state of the breaker if it has changed; `closed` for none. */
  breaker: OpenBreakerState | 'closed' | null;
}

export class HealthStore {
  readonly #mongo: Pick<Mongo, 'log'>;
  readonly #rows: Collection<HealthRow>;
  readonly #offset: () => number;

  /** @param offset milliseconds by which the sender's clock is ahead of the server's; for tests */
  constructor(mongo: Pick<Mongo, 'log'>, offset: () => number) {
    this.#mongo = mongo;
    this.#rows = mongo.log.collection<HealthRow>('webhook_health');
    this.#offset = offset;
  }

  async of(endpoints: readonly string[]): Promise<readonly HealthRow[]> {
    return await withTranslatedErrors(() => this.#rows.find({ _id: { $in: [...endpoints] } }).toArray());
  }

  async all(): Promise<readonly HealthRow[]> {
    return await withTranslatedErrors(() => this.#rows.find().toArray());
  }

  /** Endpoints with an open breaker. */
  async open(): Promise<readonly HealthRow[]> {
    return await withTranslatedErrors(() => this.#rows.find({ openUntil: { $exists: true } }).toArray());
  }

  async write(news: ReadonlyMap<string, HealthUpdate>): Promise<void> {
    const updates = [...news].map(([endpoint, one]) => ({ q: { _id: endpoint }, u: updateOf(one), upsert: true }));
    if (updates.length === 0) return;
    const command = {
      update: this.#rows.collectionName,
      updates,
      ordered: false,
      writeConcern: { w: 'majority' },
    };
    const reply = await withTranslatedErrors(() => this.#mongo.log.command(command));
    if (reply['writeErrors'] || reply['writeConcernError'])
      throw new Error('The health of endpoints could not be written');
  }

  /** Acquires the right to send the one probe of a half-open breaker, for a time. @returns whether this call has it */
  async claimProbe(endpoint: string, forMs: number): Promise<boolean> {
    const now = { $add: ['$$NOW', this.#offset()] };
    const { modifiedCount } = await withTranslatedErrors(() =>
      this.#rows.updateOne({ _id: endpoint, openUntil: { $exists: true }, $expr: { $lte: ['$openUntil', now] } }, [
        { $set: { openUntil: { $add: [now, forMs] }, probing: true } },
      ]),
    );
    return modifiedCount === 1;
  }

  /**
   * Reserves rate slots, so that all processes together keep the rate of an endpoint.
   * @param stepMs time from one slot to the next
   * @returns the time of the first of them, in milliseconds since 1970
   */
  async reserve(endpoint: string, count: number, stepMs: number): Promise<number> {
    const now = { $add: ['$$NOW', this.#offset()] };
    const nextSlot = { $add: [{ $max: ['$nextSlot', now] }, { $literal: count * stepMs }] };
    const options = { upsert: true, returnDocument: 'after' } as const;
    const row = await withTranslatedErrors(() =>
      this.#rows.findOneAndUpdate({ _id: endpoint }, [{ $set: { nextSlot } }], options),
    );
    return (row?.nextSlot?.getTime() ?? 0) - count * stepMs;
  }

  /** Resets failures: the endpoint has another URL, or was enabled again. */
  async reset(endpoint: string): Promise<void> {
    const unset = { openUntil: '', pauseMs: '', probing: '', failingSince: '' } as const;
    await withTranslatedErrors(() => this.#rows.updateOne({ _id: endpoint }, { $unset: unset }));
  }

  async remove(endpoint: string): Promise<void> {
    await withTranslatedErrors(() => this.#rows.deleteOne({ _id: endpoint }));
  }
}

function updateOf({ lastSuccessAt, lastFailureAt, failingSince, breaker }: HealthUpdate): Document {
  const max = { ...(lastSuccessAt && { lastSuccessAt }), ...(lastFailureAt && { lastFailureAt }) };
  const opened = breaker !== null && breaker !== 'closed' ? breaker : null;
  const set = {
    ...(opened && { openUntil: new Date(opened.openUntil), pauseMs: opened.pauseMs }),
    ...(lastSuccessAt && failingSince && { failingSince }),
  };
  const unset = {
    ...(breaker !== null && { probing: '' }),
    ...(breaker === 'closed' && { openUntil: '', pauseMs: '' }),
    ...(failingSince === null && { failingSince: '' }),
  };
  // Without a success in between, the earlier first failure counts.
  const min = { ...(lastSuccessAt === null && failingSince && { failingSince }) };
  const parts = { $max: max, $set: set, $unset: unset, $min: min };
  return Object.fromEntries(Object.entries(parts).filter(([, fields]) => Object.keys(fields).length > 0));
}
