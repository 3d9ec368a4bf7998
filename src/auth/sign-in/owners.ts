/**
 * How an installation gets its owner: by a link that works once and is written to the program's log, by settings, or by
 * a script; never by signing up first. Not here: what owners may do.
 */
import type { Activity } from '../../database/activity.ts';
import { ITSELF } from '../../database/system-collection.ts';
import type { Mode } from '../../kernel/config/config.ts';
import type { UserStore } from '../accounts/user-store.ts';
import type { Users } from '../accounts/users.ts';
import { linkUnusable } from '../identity/refusals.ts';
import { foldName, type User } from '../identity/user.ts';
import type { ApiKeys } from '../tokens/api-keys.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { SignedIn, SignIn } from './sign-in.ts';
import type { SingleUse } from './single-use.ts';

export interface OwnersParts {
  readonly mode: Mode;
  readonly users: Users;
  readonly store: Pick<UserStore, 'hasOwner' | 'count'>;
  readonly keys: ApiKeys;
  readonly countPolicies: () => Promise<number>;
  readonly countProviders: () => Promise<number>;
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
    return this.#parts.store.hasOwner();
  }

  /**
   * Describes what was made in development mode and will hold in production as soon as there is an owner: any client of
   * development mode may have made it.
   * @returns null when there is nothing, or when an owner exists that could have looked at it
   */
  async leftBehind(): Promise<string | null> {
    const { mode, store, keys, countPolicies, countProviders } = this.#parts;
    if (mode === 'development' || (await this.exists())) return null;
    const counts = await Promise.all([countPolicies(), keys.count(), store.count(), countProviders()]);
    const [policies, keyCount, accounts, providers] = counts;
    if (counts.every((count) => count === 0)) return null;
    return (
      `Made before there was an owner: policies ${policies}, API keys ${keyCount}, accounts ${accounts}, ` +
      `identity providers ${providers}. They take effect with the first owner; check /admin/policies, /admin/keys, ` +
      '/admin/users and /admin/providers'
    );
  }

  /**
   * Makes a set-up link; older links stop working.
   * @param base scheme and authority under which people reach this server
   */
  async link(base: string): Promise<string> {
    const token = await this.#parts.singleUse.make('setup', null, { alone: true });
    await this.#parts.activity.record('system.auth.setup-link', {}, ITSELF);
    return `${base}/dashboard/setup#${token}`;
  }

  /**
   * @returns the owner, signed in, and what the first one should look at
   * @throws MillraceError `link-unusable`, `password-refused`, `unique-violation`
   */
  async setUp(
    token: string,
    email: string,
    password: string,
    origin: SessionOrigin,
  ): Promise<SignedIn & { note?: string }> {
    const { singleUse, users } = this.#parts;
    const owner = { kind: 'owner', email, password, roles: ['owner'] } as const;
    // The link is checked first: only a client with a valid link may learn which addresses have accounts.
    const made = await singleUse.spend('setup', token, async () => ({
      note: await this.leftBehind(),
      user: await users.create(owner, stampOf(origin)),
    }));
    if (made === null) throw linkUnusable();
    const welcome = await this.#parts.signIn.welcome(made.user, origin);
    return made.note === null ? welcome : { ...welcome, note: made.note };
  }

  /**
   * Makes an owner with this address. If there is one already, it stays unchanged.
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
      // Another process may have created it first.
      const faster = await users.byName(foldName(email));
      if (faster?.kind === 'owner') return faster;
      throw error;
    }
  }
}
