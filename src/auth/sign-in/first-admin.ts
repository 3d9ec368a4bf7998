/**
 * How an instance gets its first administrator: with a link that works once and is written to the program's log, by
 * settings, or by a script; never by signing up first.
 */
import type { ServerMode } from '../../config/config.ts';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { SYSTEM_CHANGE_STAMP } from '../../database/system-collection.ts';
import { linkExpired } from '../identity/auth-errors.ts';
import { normalizeSignInName, type User } from '../identity/user.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { ApiKeys } from '../tokens/api-keys.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { UserStore } from '../users/user-store.ts';
import type { Users } from '../users/users.ts';
import type { SignIn, SignInResult } from './sign-in.ts';

export interface FirstAdminDeps {
  readonly mode: ServerMode;
  readonly users: Users;
  readonly store: Pick<UserStore, 'hasAdmin' | 'count'>;
  readonly keys: ApiKeys;
  readonly countPolicies: () => Promise<number>;
  readonly countProviders: () => Promise<number>;
  readonly signIn: SignIn;
  readonly oneTimeTokens: OneTimeTokens;
  readonly activity: AuditEvents;
}

export class FirstAdmin {
  readonly #deps: FirstAdminDeps;

  constructor(deps: FirstAdminDeps) {
    this.#deps = deps;
  }

  exists(): Promise<boolean> {
    return this.#deps.store.hasAdmin();
  }

  /**
   * Describes what was created in development mode and will be active in production as soon as there is an
   * administrator: any client of development mode may have created it.
   * @returns null when there is nothing, or when an administrator exists that could have checked it
   */
  async describeDevelopmentLeftovers(): Promise<string | null> {
    const { mode, store, keys, countPolicies, countProviders } = this.#deps;
    if (mode === 'development' || (await this.exists())) return null;
    const counts = await Promise.all([countPolicies(), keys.count(), store.count(), countProviders()]);
    const [policies, keyCount, users, providers] = counts;
    if (counts.every((count) => count === 0)) return null;
    return (
      `Created before there was an administrator: policies ${policies}, API keys ${keyCount}, users ${users}, ` +
      `identity providers ${providers}. They take effect with the first administrator; check /admin/policies, /admin/keys, ` +
      '/admin/users and /admin/providers'
    );
  }

  /**
   * Makes a setup link; older links stop working.
   * @param base scheme and authority under which people reach this server
   */
  async link(base: string): Promise<string> {
    const token = await this.#deps.oneTimeTokens.make('setup', null, { alone: true });
    await this.#deps.activity.record('system.auth.setup-link-created', {}, SYSTEM_CHANGE_STAMP);
    return `${base}/dashboard/setup#${token}`;
  }

  /**
   * @returns the administrator, signed in, and what the first one should check
   * @throws MillraceError `link-expired`, `weak-password`, `unique-violation`
   */
  async setUp(
    token: string,
    email: string,
    password: string,
    origin: SessionOrigin,
  ): Promise<SignInResult & { note?: string }> {
    const { oneTimeTokens, users } = this.#deps;
    const owner = { kind: 'admin', email, password, roles: ['owner'] } as const;
    // The link is checked first: only a client with a valid link may learn which e-mail addresses have users.
    const created = await oneTimeTokens.spend('setup', token, async () => ({
      note: await this.describeDevelopmentLeftovers(),
      user: await users.create(owner, changeStampFromOrigin(origin)),
    }));
    if (created === null) throw linkExpired();
    const welcome = await this.#deps.signIn.openSession(created.user, origin);
    return created.note === null ? welcome : { ...welcome, note: created.note };
  }

  /**
   * Creates an administrator with this e-mail address. If there is one already, it stays unchanged.
   * @returns the administrator
   * @throws MillraceError `weak-password`, `unique-violation` when a user has that name
   */
  async ensure(email: string, password: string): Promise<User> {
    const { users } = this.#deps;
    const requested = { kind: 'admin', email, password, roles: ['owner'] } as const;
    const there = await users.byName(normalizeSignInName(email));
    if (there?.kind === 'admin') return there;
    try {
      return await users.create(requested, SYSTEM_CHANGE_STAMP);
    } catch (error) {
      // Another process may have created it first.
      const faster = await users.byName(normalizeSignInName(email));
      if (faster?.kind === 'admin') return faster;
      throw error;
    }
  }
}
