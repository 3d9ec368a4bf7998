/**
 * Runs transactions on a fixed set of sessions, and repeats one that failed for a transient reason, such as a change of
 * primary. The session ids are stored in `<db>_log.instances` under a lease. A process that is killed inside a
 * transaction locks its documents for about a minute; another process that finds the lease expired kills the sessions,
 * which releases the documents at once.
 */
import { randomUUID } from 'node:crypto';
import type { Binary, ClientSession, Collection } from 'mongodb';
import { retry } from '../lib/concurrency/retry.ts';
import { MillraceError } from '../lib/errors.ts';
import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from './errors.ts';
import type { Mongo } from './mongo.ts';

const SESSIONS = 8;
const MAX_WAITING = 1_000;
const LEASE_MS = 5_000;
const RENEW_MS = 1_500;
/**
 * Slightly longer than it takes to notice a dead process: until then transactions conflict with the documents that it
 * locks.
 */
const PATIENCE_MS = LEASE_MS + RENEW_MS + 1_500;
const MAX_DELAY_MS = 250;

interface Instance {
  _id: string;
  sessions: { id: Binary }[];
  until: Date;
}

/** Conflicts that a second run of the whole transaction resolves; 48 has no label for it (measured on 6.0.5). */
const CONFLICTS: ReadonlySet<number> = new Set([
  MONGO_ERROR_CODES.namespaceExists,
  MONGO_ERROR_CODES.writeConflict,
  MONGO_ERROR_CODES.noSuchTransaction,
]);

export class Transactions {
  readonly #mongo: Mongo;
  readonly #instances: Collection<Instance>;
  readonly #id = randomUUID();
  readonly #idle: ClientSession[] = [];
  readonly #waiting: ((session: ClientSession) => void)[] = [];
  #sessions: readonly ClientSession[] = [];
  #timer: NodeJS.Timeout | undefined;
  #rounds: Promise<void> = Promise.resolve();

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#instances = mongo.log.collection<Instance>('instances');
  }

  /** Registers the sessions, releases locks of dead processes, and repeats both. */
  async start(): Promise<void> {
    this.#sessions = Array.from({ length: SESSIONS }, () => this.#mongo.client.startSession());
    this.#idle.push(...this.#sessions);
    await this.#round();
    this.#timer = setInterval(() => {
      // A failed round is repaired by the next one; what matters to a caller fails in its own transaction.
      this.#rounds = this.#rounds.then(() => this.#round()).catch(() => undefined);
    }, RENEW_MS);
  }

  /** Ends the sessions (and with them open transactions) and the registration. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#rounds;
    await Promise.all(this.#sessions.map((session) => session.endSession()));
    await this.#instances.deleteOne({ _id: this.#id });
  }

  /**
   * Runs `work` in a transaction with majority write concern; the whole of it again when it met a passing conflict.
   * `work` must pass the session to every operation and must do nothing that a second run would do twice.
   * @throws MillraceError `overloaded` when too many transactions wait for a session, `write-conflict` when the conflict
   *   does not pass
   */
  async run<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
    const session = await this.#acquire();
    try {
      return await withTranslatedErrors(() =>
        retry(() => attempt(session, work), {
          limitMs: PATIENCE_MS,
          delayMs: 10,
          maxDelayMs: MAX_DELAY_MS,
          retryable: isTransactionConflict,
        }),
      );
    } catch (error) {
      throw isTransactionConflict(error) && !(error instanceof MillraceError) ? writeConflict(error) : error;
    } finally {
      const next = this.#waiting.shift();
      if (next) next(session);
      else this.#idle.push(session);
    }
  }

  #acquire(): Promise<ClientSession> | ClientSession {
    const session = this.#idle.pop();
    if (session) return session;
    if (this.#waiting.length >= MAX_WAITING) {
      throw new MillraceError('overloaded', 'Too many transactions wait', { headers: { 'retry-after': '1' } });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Renews the registration and finds dead processes. One command does both while all are alive: it also matches the
   * expired ones, leaves them unchanged, and the server counts them among the matched.
   */
  async #round(): Promise<void> {
    const isMine = { $eq: ['$_id', this.#id] };
    const { matchedCount, modifiedCount } = await this.#instances.updateMany(
      { $or: [{ _id: this.#id }, { $expr: { $lt: ['$until', '$$NOW'] } }] },
      [{ $set: { until: { $cond: [isMine, { $add: ['$$NOW', LEASE_MS] }, '$until'] } } }],
    );
    if (modifiedCount === 0) await this.#register();
    if (matchedCount > modifiedCount) await this.#freeExpired();
  }

  async #register(): Promise<void> {
    const sessions = this.#sessions.map((session) => ({ id: session.serverSession.id['id'] as Binary }));
    await this.#instances.updateOne(
      { _id: this.#id },
      [{ $set: { sessions: { $literal: sessions }, until: { $add: ['$$NOW', LEASE_MS] } } }],
      { upsert: true },
    );
  }

  async #freeExpired(): Promise<void> {
    // Not ourselves: a process that was delayed since it renewed its lease is slow, not dead.
    const others = { _id: { $ne: this.#id }, $expr: { $lt: ['$until', '$$NOW'] } };
    const expired = await this.#instances.find(others).toArray();
    for (const instance of expired) {
      await this.#mongo.client.db('admin').command({ killSessions: instance.sessions });
      await this.#instances.deleteOne({ _id: instance._id, until: instance.until });
    }
  }
}

async function attempt<T>(session: ClientSession, work: (session: ClientSession) => Promise<T>): Promise<T> {
  session.startTransaction({ readConcern: { level: 'local' }, writeConcern: { w: 'majority' } });
  try {
    const result = await work(session);
    await session.commitTransaction();
    return result;
  } catch (error) {
    if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
    throw error;
  }
}

function writeConflict(cause: unknown): MillraceError {
  return new MillraceError('write-conflict', 'Other writers are changing the same documents', {
    headers: { 'retry-after': '1' },
    cause,
  });
}

/**
 * Whether a second run of the whole transaction may succeed; a translated error still has the driver's error as its
 * cause.
 */
export function isTransactionConflict(error: unknown): boolean {
  if (error instanceof MillraceError) return error.code === 'write-conflict' || isTransactionConflict(error.cause);
  const code = mongoErrorCode(error);
  const labelled =
    error instanceof Error && 'hasErrorLabel' in error && typeof error.hasErrorLabel === 'function'
      ? error.hasErrorLabel('TransientTransactionError') === true
      : false;
  return labelled || (code !== undefined && CONFLICTS.has(code));
}
