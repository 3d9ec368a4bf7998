/**
 * Where sessions are kept: `_sessions` in `<db>`, whose changes are events, and in `<db>_log` for each the hash of its
 * current refresh token. Only this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { makeOwnCollection, type Stamp, stampedForDeletion } from '../../database/system-collection.ts';
import type { Session } from './session.ts';

const SESSIONS = '_sessions';
/** Used tokens of one session that are remembered. */
const MAX_USED = 8;

/** The family of refresh tokens of a session. */
export interface Family {
  /** Id of the session. */
  readonly _id: string;
  readonly user: string;
  /** The identity that the session was opened by; missing where a provider did not. */
  readonly identity?: string;
  readonly generation: number;
  readonly hash: string;
  /** Hashes of the tokens that were used last, and when; the newest last. */
  readonly used: readonly { readonly hash: string; readonly at: Date }[];
  readonly rotatedAt: Date;
  /** When its holder last proved to be the user; missing in sessions of earlier versions. */
  readonly provedAt?: Date;
  readonly expiresAt: Date;
}

export class SessionStore {
  readonly #mongo: Mongo;
  readonly #sessions: Collection<Session>;
  readonly #families: Collection<Family>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#sessions = mongo.data.collection<Session>(SESSIONS);
    this.#families = mongo.log.collection<Family>('refresh');
  }

  async start(): Promise<void> {
    await makeOwnCollection(this.#mongo, SESSIONS, [{ key: { user: 1, '_meta.createdAt': 1 } }]);
    await translated(() => this.#families.createIndex({ expiresAt: 1 }));
  }

  /** The family is stored first: a session without one would never end. */
  async insert(session: Session, family: Family): Promise<void> {
    await translated(() => this.#families.insertOne({ ...family }));
    await translated(() => this.#sessions.insertOne({ ...session }));
  }

  find(id: string): Promise<Session | null> {
    return translated(() => this.#sessions.findOne({ _id: id }));
  }

  /** All sessions of an account, oldest first. */
  list(user: string): Promise<Session[]> {
    return translated(() => this.#sessions.find({ user }).sort({ '_meta.createdAt': 1, _id: 1 }).toArray());
  }

  families(ids: readonly string[]): Promise<Family[]> {
    return translated(() => this.#families.find({ _id: { $in: [...ids] } }).toArray());
  }

  /**
   * Replaces the current token by the next one.
   * @returns false when the given one is not the current one, or has expired
   */
  async rotate(family: Pick<Family, '_id' | 'hash'>, next: string, now: Date, expiresAt: Date): Promise<boolean> {
    const { _id, hash } = family;
    const { matchedCount } = await translated(() =>
      this.#families.updateOne(
        { _id, hash, expiresAt: { $gt: now } },
        {
          $set: { hash: next, rotatedAt: now, expiresAt },
          $push: { used: { $each: [{ hash, at: now }], $slice: -MAX_USED } },
          $inc: { generation: 1 },
        },
      ),
    );
    return matchedCount === 1;
  }

  /** Notes that the holder of a session was proved. */
  async prove(id: string, provedAt: Date): Promise<void> {
    await translated(() => this.#families.updateOne({ _id: id }, { $set: { provedAt } }));
  }

  async family(id: string): Promise<Family | null> {
    return translated(() => this.#families.findOne({ _id: id }));
  }

  /** Sessions whose refresh tokens have expired. */
  async expired(now: Date, limit: number): Promise<string[]> {
    const found = await translated(() =>
      this.#families
        .find({ expiresAt: { $lte: now } }, { projection: { _id: 1 } })
        .sort({ expiresAt: 1 })
        .limit(limit)
        .toArray(),
    );
    return found.map(({ _id }) => _id);
  }

  /** Ends a session; false when it had ended. The refresh token goes first, so that nothing outlives the session. */
  async remove(id: string, stamp: Stamp): Promise<boolean> {
    return translated(async () => {
      await this.#families.deleteOne({ _id: id });
      await this.#sessions.updateOne({ _id: id }, { $set: stampedForDeletion(stamp) });
      return (await this.#sessions.deleteOne({ _id: id })).deletedCount === 1;
    });
  }
}
