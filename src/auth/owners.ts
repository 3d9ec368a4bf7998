/**
 * How somebody comes to run this installation: by a link that works once and is told to whoever can read the program's
 * log, by settings, or by a script; never by being the first to come. Not here: what owners may do.
 */
import { ITSELF } from '../database/own-collection.ts';
import type { Activity } from './activity.ts';
import { linkUnusable } from './refusals.ts';
import { type Origin, stampOf } from './session.ts';
import type { SignedIn, SignIn } from './sign-in.ts';
import type { SingleUse } from './single-use.ts';
import { foldName, type User } from './user.ts';
import type { Users } from './users.ts';

export interface OwnersParts {
  readonly users: Users;
  readonly signIn: SignIn;
  readonly singleUse: SingleUse;
  readonly activity: Activity;
}

export class Owners {
  readonly #parts: OwnersParts;

  constructor(parts: OwnersParts) {
    this.#parts = parts;
  }

  exists(): Promise<boolean> {
    return this.#parts.users.hasOwner();
  }

  /**
   * Makes a set-up link; older ones die.
   * @param base scheme and authority under which people reach this server
   */
  async link(base: string): Promise<string> {
    const token = await this.#parts.singleUse.make('setup', null, { alone: true });
    await this.#parts.activity.record('system.auth.setup-link', {}, ITSELF);
    return `${base}/setup#${token}`;
  }

  /** @throws MillraceError `link-unusable`, `password-refused`, `unique-violation` */
  async setUp(token: string, email: string, password: string, origin: Origin): Promise<SignedIn> {
    const { singleUse, users } = this.#parts;
    const owner = { kind: 'owner', email, password, roles: ['owner'] } as const;
    // The link first: only whoever holds it may learn which addresses have accounts.
    const user = await singleUse.spend('setup', token, () => users.create(owner, stampOf(origin)));
    if (user === null) throw linkUnusable();
    return this.#parts.signIn.welcome(user, origin);
  }

  /**
   * Makes an owner of this address unless there is one, who stays as it is.
   * @returns the owner
   * @throws MillraceError `password-refused`, `unique-violation` when the account of that name is a user's
   */
  async ensure(email: string, password: string): Promise<User> {
    const { users } = this.#parts;
    const wanted = { kind: 'owner', email, password, roles: ['owner'] } as const;
    const there = await users.byName(foldName(email));
    if (there?.kind === 'owner') return there;
    try {
      return await users.create(wanted, ITSELF);
    } catch (error) {
      // Another process may have been faster.
      const faster = await users.byName(foldName(email));
      if (faster?.kind === 'owner') return faster;
      throw error;
    }
  }
}
