/** Users in `_users` of `<db>`; each change is an event. Only this folder calls this file. */
import type { AnyBulkWriteOperation, Collection, Filter, IndexDescription } from 'mongodb';
import { decodeSystemDocument } from '../../database/bson/decode-system-document.ts';
import { bulkWriteErrors, duplicateKey, MONGO_ERROR_CODES, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import {
  type ChangeStamp,
  ensureSystemCollection,
  SYSTEM_CHANGE_STAMP,
  stampDeletion,
  stampUpdate,
} from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { ProviderIdentity } from '../identity/provider-identity.ts';
import { normalizeSignInName, type User } from '../identity/user.ts';
import { usernameSkeleton } from './look-alikes.ts';

const USERS = '_users';
/** Users of earlier versions that get their skeletons in one step. */
const BATCH = 500;

export type UserChange = Partial<Omit<User, '_id' | '_meta' | 'kind'>>;

/** The filter of a list of users. */
export interface UserSearch {
  readonly kind: User['kind'] | null;
  /** Prefix of a sign-in name, or the whole id; null for all. */
  readonly search: string | null;
}

export class UserStore {
  readonly #mongo: Mongo;
  readonly #users: Collection<User>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#users = mongo.data.collection<User>(USERS);
  }

  async start(): Promise<void> {
    await ensureSystemCollection(this.#mongo, USERS, [
      { key: { names: 1 }, unique: true },
      { key: { kind: 1, _id: 1 } },
      SKELETONS,
      IDENTITIES,
    ]);
    await this.#addSkeletons();
  }

  /**
   * Gives users of earlier versions their skeletons. If two names look alike, only the older user gets it, and both
   * stay usable.
   */
  async #addSkeletons(): Promise<void> {
    await withTranslatedErrors(async () => {
      const filter: Filter<User> = { skeleton: { $exists: false }, username: { $type: 'string' } };
      const projection = { _id: 1, username: 1 };
      let batch: AnyBulkWriteOperation<User>[] = [];
      const write = async () => {
        const writes = batch;
        batch = [];
        if (writes.length > 0) await this.#users.bulkWrite(writes, { ordered: false }).catch(requireDuplicates);
      };
      for await (const { _id, username } of this.#users.find(filter, { projection }).sort({ _id: 1 })) {
        const skeleton = usernameSkeleton(username ?? '');
        const $set = { skeleton, ...stampUpdate(SYSTEM_CHANGE_STAMP, new Date()) };
        batch.push({ updateOne: { filter: { _id, username }, update: { $set, $inc: { '_meta.revision': 1 } } } });
        if (batch.length === BATCH) await write();
      }
      await write();
    });
  }

  /** @throws MillraceError `unique-violation` when another user has one of its names */
  async insert(user: User): Promise<void> {
    await uniquely(() => this.#users.insertOne({ ...user }));
  }

  find(id: string): Promise<User | null> {
    return this.#find({ _id: id });
  }

  /** @param name folded */
  findByName(name: string): Promise<User | null> {
    return this.#find({ names: name });
  }

  /** @param identity its id */
  findByIdentity(identity: string): Promise<User | null> {
    return this.#find({ 'identities.id': identity });
  }

  #find(filter: Filter<User>): Promise<User | null> {
    return withTranslatedErrors(async () => {
      const found = await this.#users.findOne(filter, { raw: true });
      return found && readUser(found);
    });
  }

  /**
   * Adds an identity to a user.
   * @param provider of the identity; a user has one of each
   * @returns false when there is no such user, or it has an identity of this provider
   * @throws MillraceError `identity-taken`
   */
  addIdentity(
    id: string,
    provider: string,
    identity: ProviderIdentity,
    stamp: ChangeStamp,
    now: Date,
  ): Promise<boolean> {
    return uniquely(async () => {
      const { modifiedCount } = await this.#users.updateOne(
        { _id: id, 'identities.id': { $not: identitiesOf([provider]) } },
        { $push: { identities: identity }, $set: stampUpdate(stamp, now), $inc: { '_meta.revision': 1 } },
      );
      return modifiedCount === 1;
    });
  }

  /**
   * Removes the identity of a provider from a user, atomically with the check of what remains.
   * @param others providers of which the user must keep an identity; null when it may lose all
   * @returns false when the user has no such identity, or would keep none
   */
  async removeIdentity(
    id: string,
    provider: string,
    others: readonly string[] | null,
    stamp: ChangeStamp,
    now: Date,
  ): Promise<boolean> {
    const own = { 'identities.id': identitiesOf([provider]) };
    const kept = others === null ? {} : { 'identities.id': identitiesOf(others) };
    const { modifiedCount } = await withTranslatedErrors(() =>
      this.#users.updateOne(
        { _id: id, $and: [own, kept] },
        {
          $pull: { identities: { id: identitiesOf([provider]) } },
          $set: stampUpdate(stamp, now),
          $inc: { '_meta.revision': 1 },
        },
      ),
    );
    return modifiedCount === 1;
  }

  /** Users in the order of their ids, after one of them. */
  list({ kind, search }: UserSearch, after: string | null, limit: number): Promise<User[]> {
    const filter: Filter<User> = {
      ...(kind && { kind }),
      ...(after !== null && { _id: { $gt: after } }),
      ...(search !== null && { $or: [{ names: beginningWith(normalizeSignInName(search)) }, { _id: search }] }),
    };
    const options = { sort: { _id: 1 }, limit, raw: true } as const;
    return withTranslatedErrors(async () => (await this.#users.find(filter, options).toArray()).map(readUser));
  }

  /** Users that can sign in. */
  count(): Promise<number> {
    return withTranslatedErrors(() => this.#users.countDocuments({ disabled: false }));
  }

  /** Administrators with full rights who can sign in. */
  countOwners(): Promise<number> {
    return withTranslatedErrors(() => this.#users.countDocuments({ kind: 'admin', roles: 'owner', disabled: false }));
  }

  /** True if this instance has an administrator. */
  async hasAdmin(): Promise<boolean> {
    return (
      (await withTranslatedErrors(() => this.#users.findOne({ kind: 'admin' }, { projection: { _id: 1 } }))) !== null
    );
  }

  /**
   * Changes a user.
   * @param only conditions that the user must still meet
   * @returns the user after the change, and after later ones that came before it was read again; null when there is
   * none, or it no longer meets the conditions
   * @throws MillraceError `unique-violation`
   */
  change(
    id: string,
    change: UserChange,
    stamp: ChangeStamp,
    now: Date,
    only: Partial<Pick<User, 'username' | 'email'>> = {},
  ): Promise<User | null> {
    return uniquely(async () => {
      const { matchedCount } = await this.#users.updateOne(
        { ...only, _id: id },
        { $set: { ...change, ...stampUpdate(stamp, now) }, $inc: { '_meta.revision': 1 } },
      );
      return matchedCount === 0 ? null : this.find(id);
    });
  }

  /** @returns false when there is none */
  remove(id: string, stamp: ChangeStamp): Promise<boolean> {
    return withTranslatedErrors(async () => {
      await this.#users.updateOne({ _id: id }, { $set: stampDeletion(stamp) });
      return (await this.#users.deleteOne({ _id: id })).deletedCount === 1;
    });
  }
}

/** Claims and profiles have fields of any name. */
function readUser(raw: unknown): User {
  const { _id, kind, username, email, emailVerified, names, skeleton, ...rest } = decodeSystemDocument(raw);
  const { roles, claims, profile, disabled, secondFactor: mfa, identities, _meta } = rest;
  const known = { _id, kind, username, email, emailVerified, names, roles, claims, profile, disabled, _meta };
  return {
    ...known,
    ...(skeleton === undefined ? {} : { skeleton }),
    ...(mfa === undefined ? {} : { secondFactor: mfa }),
    ...(identities === undefined ? {} : { identities }),
  };
}

/** A range that the index of the names supports. */
function beginningWith(text: string): Filter<string> {
  return { $elemMatch: { $gte: text, $lt: `${text}\u{10ffff}` } };
}

/** Two user names that could be mistaken for one another cannot both exist. */
const SKELETONS: IndexDescription = {
  key: { skeleton: 1 },
  unique: true,
  partialFilterExpression: { skeleton: { $type: 'string' } },
};

/** @throws the error when a write failed for another reason than a user with the same skeleton */
function requireDuplicates(error: unknown): void {
  if (!bulkWriteErrors(error).every(({ code }) => code === MONGO_ERROR_CODES.duplicateKey)) throw error;
}

/** Two users cannot have the same identity. */
const IDENTITIES: IndexDescription = {
  key: { 'identities.id': 1 },
  unique: true,
  // Excludes users without identities, otherwise only one could be without.
  partialFilterExpression: { 'identities.id': { $gt: '' } },
};

/** Matches the ids of identities of these providers, whose names are lowercase letters, digits and `-`. */
function identitiesOf(providers: readonly string[]): RegExp {
  return new RegExp(`^(?:${providers.join('|')}):`);
}

async function uniquely<T>(write: () => Promise<T>): Promise<T> {
  return withTranslatedErrors(async () => {
    try {
      return await write();
    } catch (error) {
      const taken = duplicateKey(error);
      if (taken === undefined) throw error;
      if (taken.fields.includes('identities.id')) {
        throw new MillraceError('identity-taken', 'The identity is linked to another user', {
          hint: 'Sign in with it, and unlink it from that user first',
          cause: error,
        });
      }
      if (taken.fields.includes('skeleton')) {
        throw new MillraceError('username-taken', 'The user name looks like that of another user', {
          hint: 'Choose one that differs in more than look-alike characters, such as l and 1',
          cause: error,
        });
      }
      // No user name contains an @.
      const isEmail = String(taken.values[0]).includes('@');
      throw isEmail
        ? new MillraceError('email-taken', 'Another user has this e-mail address', { cause: error })
        : new MillraceError('username-taken', 'Another user has this user name', { cause: error });
    }
  });
}
