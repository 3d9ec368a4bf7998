/**
 * Sessions in `_sessions` of `<db>`, whose changes are events, and in `<db>_log` for each the hash of its current
 * refresh token. Only this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { makeOwnCollection, type Stamp, stampedForDeletion } from '../../database/system-collection.ts';
import type { Session } from './session.ts';

const SESSIONS = '_sessions';
/** Uses of tokens within this time are stored together, in milliseconds. It bounds what is stored of a session. */
const USE_STEP_MS = 100;

export interface TokenUses {
  readonly from: number;
  readonly to: number;
  readonly at: Date;
}

/** The family of refresh tokens of a session. */
export interface Family {
  /** Id of the session. */
  readonly _id: string;
  readonly user: string;
  /** The identity that the session was opened by; missing where a provider did not. */
  readonly identity?: string;
  readonly generation: number;
  readonly hash: string;
  /** Which generations of tokens were used lately, and until when at most; the newest last. */
  readonly used: readonly TokenUses[];
  readonly rotatedAt: Date;
  /** When its holder was last authenticated; missing in sessions of earlier versions. */
  readonly verifiedAt?: Date;
  readonly expiresAt: Date;
}

export class SessionStore {
  readonly #mongo: Mongo;
  readonly #sessions: Collection<Session>;
  readonly #families: Collection<Family>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#sessions = mongo.data.collection<Session>(SESSIONS);
    this.#families = mongo.log.collection<Family>('refresh_tokens');
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

  /** All sessions of a user, oldest first. */
  list(user: string): Promise<Session[]> {
    return translated(() => this.#sessions.find({ user }).sort({ '_meta.createdAt': 1, _id: 1 }).toArray());
  }

  families(ids: readonly string[]): Promise<Family[]> {
    return translated(() => this.#families.find({ _id: { $in: [...ids] } }).toArray());
  }

  /**
   * Replaces the current token by the next one.
   * @param since uses before this time are dropped
   * @returns false when the given one is not the current one, or has expired
   */
  async rotate(
    { _id, hash }: Pick<Family, '_id' | 'hash'>,
    next: string,
    { now, since, expiresAt }: { readonly now: Date; readonly since: Date; readonly expiresAt: Date },
  ): Promise<boolean> {
    const at = new Date(Math.ceil(now.getTime() / USE_STEP_MS) * USE_STEP_MS);
    const uses = (cond: object) => ({ $filter: { input: '$used', as: 'one', cond } });
    const same = uses({ $eq: ['$$one.at', at] });
    const from = { $ifNull: [{ $let: { vars: { same }, in: { $min: '$$same.from' } } }, '$generation'] };
    const others = uses({ $and: [{ $gt: ['$$one.at', since] }, { $ne: ['$$one.at', at] }] });
    const used = { $concatArrays: [others, [{ from, to: '$generation', at }]] };
    const generation = { $add: ['$generation', 1] };
    const { matchedCount } = await translated(() =>
      this.#families.updateOne({ _id, hash, expiresAt: { $gt: now } }, [
        { $set: { hash: next, rotatedAt: now, expiresAt, generation, used } },
      ]),
    );
    return matchedCount === 1;
  }

  /** Records that the holder of a session was authenticated. */
  async prove(id: string, verifiedAt: Date): Promise<void> {
    await translated(() => this.#families.updateOne({ _id: id }, { $set: { verifiedAt } }));
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
