/**
 * Sessions in `_sessions` of `<db>`, whose changes are events, and in `<db>_log` for each the hash of its current
 * refresh token. Only this folder calls this file.
 */
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { type ChangeStamp, ensureSystemCollection, stampDeletion } from '../../database/system-collection.ts';
import type { Session } from './session.ts';

const SESSIONS = '_sessions';
/** Uses of tokens within this time are stored together, in milliseconds. It bounds what is stored of a session. */
const USE_STEP_MS = 100;

export interface RefreshTokenUses {
  readonly from: number;
  readonly to: number;
  readonly at: Date;
}

/** The family of refresh tokens of a session. */
export interface RefreshTokenFamily {
  /** Id of the session. */
  readonly _id: string;
  readonly user: string;
  /** The identity that the session was opened by; missing where a provider did not. */
  readonly identity?: string;
  readonly generation: number;
  readonly hash: string;
  /** Which generations of tokens were used lately, and until when at most; the newest last. */
  readonly used: readonly RefreshTokenUses[];
  readonly rotatedAt: Date;
  /** When its holder was last authenticated; missing in sessions of earlier versions. */
  readonly verifiedAt?: Date;
  readonly expiresAt: Date;
}

export class SessionStore {
  readonly #mongo: Mongo;
  readonly #sessions: Collection<Session>;
  readonly #families: Collection<RefreshTokenFamily>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#sessions = mongo.data.collection<Session>(SESSIONS);
    this.#families = mongo.log.collection<RefreshTokenFamily>('refresh_tokens');
  }

  async start(): Promise<void> {
    await ensureSystemCollection(this.#mongo, SESSIONS, [{ key: { user: 1, '_meta.createdAt': 1 } }]);
    await withTranslatedErrors(() => this.#families.createIndex({ expiresAt: 1 }));
  }

  /** The family is stored first: a session without one would never end. */
  async insert(session: Session, family: RefreshTokenFamily): Promise<void> {
    await withTranslatedErrors(() => this.#families.insertOne({ ...family }));
    await withTranslatedErrors(() => this.#sessions.insertOne({ ...session }));
  }

  find(id: string): Promise<Session | null> {
    return withTranslatedErrors(() => this.#sessions.findOne({ _id: id }));
  }

  /** All sessions of a user, oldest first. */
  list(user: string): Promise<Session[]> {
    return withTranslatedErrors(() => this.#sessions.find({ user }).sort({ '_meta.createdAt': 1, _id: 1 }).toArray());
  }

  families(ids: readonly string[]): Promise<RefreshTokenFamily[]> {
    return withTranslatedErrors(() => this.#families.find({ _id: { $in: [...ids] } }).toArray());
  }

  /**
   * Replaces the current token by the next one.
   * @param since uses before this time are dropped
   * @returns false when the given one is not the current one, or has expired
   */
  async rotate(
    { _id, hash }: Pick<RefreshTokenFamily, '_id' | 'hash'>,
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
    const { matchedCount } = await withTranslatedErrors(() =>
      this.#families.updateOne({ _id, hash, expiresAt: { $gt: now } }, [
        { $set: { hash: next, rotatedAt: now, expiresAt, generation, used } },
      ]),
    );
    return matchedCount === 1;
  }

  /** Records that the holder of a session was authenticated. */
  async recordVerification(id: string, verifiedAt: Date): Promise<void> {
    await withTranslatedErrors(() => this.#families.updateOne({ _id: id }, { $set: { verifiedAt } }));
  }

  async family(id: string): Promise<RefreshTokenFamily | null> {
    return withTranslatedErrors(() => this.#families.findOne({ _id: id }));
  }

  /** Sessions whose refresh tokens have expired. */
  async expired(now: Date, limit: number): Promise<string[]> {
    const found = await withTranslatedErrors(() =>
      this.#families
        .find({ expiresAt: { $lte: now } }, { projection: { _id: 1 } })
        .sort({ expiresAt: 1 })
        .limit(limit)
        .toArray(),
    );
    return found.map(({ _id }) => _id);
  }

  /** Ends a session; false when it had ended. The refresh token goes first, so that nothing outlives the session. */
  async remove(id: string, stamp: ChangeStamp): Promise<boolean> {
    return withTranslatedErrors(async () => {
      await this.#families.deleteOne({ _id: id });
      await this.#sessions.updateOne({ _id: id }, { $set: stampDeletion(stamp) });
      return (await this.#sessions.deleteOne({ _id: id })).deletedCount === 1;
    });
  }
}
