/** Where accounts are kept: `_users` in `<db>`, whose every change is an event. Only this folder calls it. */
import type { Collection, Filter } from 'mongodb';
import { duplicateKey, translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { makeOwnCollection, type Stamp, stamped, stampedForDeletion } from '../../database/system-collection.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { User } from '../user.ts';

const USERS = '_users';

export type UserChange = Partial<Omit<User, '_id' | '_meta' | 'kind'>>;

export class UserStore {
  readonly #mongo: Mongo;
  readonly #users: Collection<User>;

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
    this.#users = mongo.data.collection<User>(USERS);
  }

  async start(): Promise<void> {
    await makeOwnCollection(this.#mongo, USERS, [{ key: { names: 1 }, unique: true }, { key: { kind: 1, _id: 1 } }]);
  }

  /** @throws MillraceError `unique-violation` when another account has one of its names */
  async insert(user: User): Promise<void> {
    await uniquely(() => this.#users.insertOne({ ...user }));
  }

  find(id: string): Promise<User | null> {
    return translated(() => this.#users.findOne({ _id: id }));
  }

  /** @param name folded */
  findByName(name: string): Promise<User | null> {
    return translated(() => this.#users.findOne({ names: name }));
  }

  /** Accounts in the order of their ids, after one of them. */
  list(kind: User['kind'] | null, after: string | null, limit: number): Promise<User[]> {
    const filter: Filter<User> = { ...(kind && { kind }), ...(after !== null && { _id: { $gt: after } }) };
    return translated(() => this.#users.find(filter).sort({ _id: 1 }).limit(limit).toArray());
  }

  /** Accounts that can sign in. */
  count(): Promise<number> {
    return translated(() => this.#users.countDocuments({ disabled: false }));
  }

  /** Owners who can sign in, with full rights. */
  countOwners(): Promise<number> {
    return translated(() => this.#users.countDocuments({ kind: 'owner', roles: 'owner', disabled: false }));
  }

  /** Whether there is anybody who runs this installation. */
  async hasOwner(): Promise<boolean> {
    return (await translated(() => this.#users.findOne({ kind: 'owner' }, { projection: { _id: 1 } }))) !== null;
  }

  /**
   * Changes an account.
   * @param only what it must still be for that
   * @returns the account as it is now, null when there is none, or none like this any more
   * @throws MillraceError `unique-violation`
   */
  change(
    id: string,
    change: UserChange,
    stamp: Stamp,
    now: Date,
    only: Partial<Pick<User, 'username' | 'email'>> = {},
  ): Promise<User | null> {
    return uniquely(() =>
      this.#users.findOneAndUpdate(
        { ...only, _id: id },
        { $set: { ...change, ...stamped(stamp, now) }, $inc: { '_meta.revision': 1 } },
        { returnDocument: 'after' },
      ),
    );
  }

  /** @returns false when there is none */
  remove(id: string, stamp: Stamp): Promise<boolean> {
    return translated(async () => {
      await this.#users.updateOne({ _id: id }, { $set: stampedForDeletion(stamp) });
      return (await this.#users.deleteOne({ _id: id })).deletedCount === 1;
    });
  }
}

async function uniquely<T>(write: () => Promise<T>): Promise<T> {
  return translated(async () => {
    try {
      return await write();
    } catch (error) {
      if (!duplicateKey(error)) throw error;
      throw new MillraceError('unique-violation', 'The user name or the e-mail address is taken', { cause: error });
    }
  });
}
