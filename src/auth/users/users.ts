/** Users, as administrators manage them and as users change themselves. */
import { randomBytes } from 'node:crypto';
import { newId } from '../../database/json/ids.ts';
import { type ChangeStamp, newDocumentMeta } from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { ProviderIdentity } from '../identity/provider-identity.ts';
import { isUnverifiedSignUp, signInNames, type User } from '../identity/user.ts';
import { checkPasswordStrength, type Passwords } from '../passwords/passwords.ts';
import type { ProviderTokenVault } from '../providers/provider-tokens.ts';
import type { SessionEndReason } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { rejectMisleadingUsername, usernameSkeleton } from './look-alikes.ts';
import type { UserChange, UserSearch, UserStore } from './user-store.ts';

/** Attempts when another request comes first: each time, one of the requests succeeds. */
const ATTEMPTS = 100;

export interface NewUser extends Partial<Pick<User, 'kind' | 'username' | 'email' | 'roles' | 'claims' | 'profile'>> {
  /** Without a password and without an identity, sign-in is impossible until a password is set by e-mail. */
  readonly password?: string;
  /** Whether the e-mail address is verified; only for callers that know it. */
  readonly emailVerified?: boolean;
  readonly identity?: ProviderIdentity;
}

export interface UsersDeps {
  readonly store: UserStore;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly tokens: Pick<ProviderTokenVault, 'forget'>;
  /** Second factors and passkeys; the result says whether there were any. */
  readonly factors: readonly { removeAll(user: string): Promise<boolean | number> }[];
  /** Secrets of unfinished requests, such as links in e-mails. */
  readonly pending: { forgetAll(user: string): Promise<void> };
  /** Called with users whose rights changed in this process, before the response is sent. */
  readonly onChanged: (id: string) => void;
  readonly now?: () => number;
}

/** What a user allowed without a session, such as receiving its events. */
export interface UserGrantRevoker {
  /** @returns how many there were */
  removeAll(user: string, stamp: ChangeStamp): Promise<number>;
}

export class Users {
  readonly #deps: UsersDeps;
  readonly #now: () => number;
  readonly #grants = new Set<UserGrantRevoker>();

  constructor(deps: UsersDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /**
   * Creates a user.
   * @param stamp its `by` is missing when the user signs up
   * @throws MillraceError `invalid-body` for a user name that mixes scripts, `unique-violation`, `identity-taken`,
   * `weak-password`
   */
  async create(
    { password, identity, emailVerified = false, ...requested }: NewUser,
    stamp: ChangeStamp | { readonly request: string },
  ): Promise<User> {
    const { kind = 'user', username = null, email = null, roles = [], claims = {}, profile = {} } = requested;
    const id = newId().toHexString();
    const by = 'by' in stamp ? stamp : { by: `${kind}:${id}`, request: stamp.request };
    const names = signInNames({ _id: id, username, email });
    const account = { kind, username, email, emailVerified, names, roles, claims, profile, disabled: false };
    const look = username === null ? {} : lookOf(username);
    const identities = identity === undefined ? {} : { identities: [identity] };
    const user: User = {
      _id: id,
      ...account,
      ...look,
      ...identities,
      _meta: newDocumentMeta(by, new Date(this.#now())),
    };
    if (password !== undefined) {
      checkPasswordStrength(password, names);
      // Before the user is stored: a hash without a user does no harm, but a user without a hash cannot sign in.
      await this.#deps.passwords.set(id, password);
    }
    try {
      await this.#deps.store.insert(user);
    } catch (error) {
      await this.#deps.passwords.remove(id);
      throw error;
    }
    return user;
  }

  /** @throws MillraceError `user-not-found` */
  async get(id: string): Promise<User> {
    return existing(await this.find(id));
  }

  find(id: string): Promise<User | null> {
    return this.#deps.store.find(id);
  }

  /** @param name as it was typed, folded */
  byName(name: string): Promise<User | null> {
    return this.#deps.store.findByName(name);
  }

  /** @param identity its id */
  byIdentity(identity: string): Promise<User | null> {
    return this.#deps.store.findByIdentity(identity);
  }

  list(requested: UserSearch, after: string | null, limit: number): Promise<User[]> {
    return this.#deps.store.list(requested, after, limit);
  }

  /**
   * Changes an account.
   * @throws MillraceError `user-not-found`, `invalid-body` for a new user name that mixes scripts, `unique-violation`,
   *   `write-conflict`, `last-owner`
   */
  async change(id: string, change: UserChange, stamp: ChangeStamp): Promise<User> {
    const before = await this.get(id);
    const user =
      isAdmin(before) && !isAdmin({ ...before, ...change }) ? await this.#demoteOwner(before, change, stamp) : null;
    const after = user ?? (await this.#write(before, change, stamp));
    this.#deps.onChanged(id);
    if (after.disabled) await this.#deps.sessions.endAll(id, 'user-disabled', stamp);
    return after;
  }

  /** @throws MillraceError `user-not-found`, `last-owner` */
  async remove(id: string, stamp: ChangeStamp): Promise<void> {
    const before = await this.get(id);
    if (isAdmin(before)) await this.#demoteOwner(before, { disabled: true }, stamp);
    if (!(await this.#deps.store.remove(id, stamp))) existing(null);
    this.#deps.onChanged(id);
    await this.#deps.passwords.remove(id);
    for (const store of this.#deps.factors) await store.removeAll(id);
    await this.#deps.tokens.forget((before.identities ?? []).map((identity) => identity.id));
    await this.#deps.sessions.endAll(id, 'user-deleted', stamp);
  }

  /**
   * Sets a password and ends the sessions that were opened with the old one.
   * @param but a session that stays open
   * @param mark of the password that it replaces; undefined for any
   * @returns false when the password is no longer the marked one; then nothing changes
   * @throws MillraceError `weak-password`
   */
  async setPassword(
    { _id, names }: User,
    password: string,
    reason: SessionEndReason,
    stamp: ChangeStamp,
    { but, mark }: { readonly but?: string; readonly mark?: string | null } = {},
  ): Promise<boolean> {
    checkPasswordStrength(password, names);
    const { passwords, sessions } = this.#deps;
    if (mark === undefined) await passwords.set(_id, password);
    else if (!(await passwords.replace(_id, mark, password))) return false;
    await sessions.endAll(_id, reason, stamp, but);
    return true;
  }

  /**
   * Registers grants that end with everything else when the e-mail address of a user is verified.
   * @returns a function that removes them again
   */
  registerGrants(grants: UserGrantRevoker): () => void {
    this.#grants.add(grants);
    return () => this.#grants.delete(grants);
  }

  /**
   * Marks the address of an account as proven, for the person who reads its e-mails. If the account registered itself and its
   * address was never proven, somebody else may have registered it in wait for that person. So everything registered before
   * ends first: the password becomes one that nobody knows, and sessions, factors, identities, secrets of unfinished requests
   * and grants are removed.
   * @returns the account; its address is not proven when it was changed meanwhile
   * @throws MillraceError `user-not-found`, `write-conflict`
   */
  async markEmailVerified({ _id: id, email }: User, stamp: ChangeStamp): Promise<User> {
    const user = await this.get(id);
    if (user.emailVerified || user.email !== email) return user;
    // The address is marked last: if the process stops before, the next verification ends everything again.
    if (isUnverifiedSignUp(user)) await this.#endEverything(id, stamp);
    const change = { emailVerified: true };
    const verified = await this.#deps.store.change(id, change, stamp, new Date(this.#now()), { email });
    this.#deps.onChanged(id);
    return verified ?? this.get(id);
  }

  /**
   * Concurrent requests may add something after the removal, but each checks again for what admitted it. So this
   * repeats until it finds nothing.
   */
  async #endEverything(id: string, stamp: ChangeStamp): Promise<void> {
    const { passwords, sessions, tokens, factors, pending } = this.#deps;
    await passwords.set(id, randomBytes(32).toString('base64url'));
    for (let round = 1; round <= ATTEMPTS; round++) {
      let found = 0;
      for (const store of factors) found += Number(await store.removeAll(id));
      const { identities = [], secondFactor: mfa = false } = await this.get(id);
      await tokens.forget(identities.map((identity) => identity.id));
      if (identities.length > 0 || mfa) {
        found += 1;
        await this.change(id, { identities: [], secondFactor: false }, stamp);
      }
      for (const grants of this.#grants) found += await grants.removeAll(id, stamp);
      await pending.forgetAll(id);
      found += await sessions.endAll(id, 'password-reset', stamp);
      if (found === 0) return;
    }
    throw new MillraceError('write-conflict', 'Too many requests are changing this user');
  }

  /**
   * A change after which a user is no longer an administrator. Checks for other administrators before and after: if two
   * administrators remove each other at the same moment, both find the other one before, and none afterwards; then the
   * change is undone.
   */
  async #demoteOwner(before: User, change: UserChange, stamp: ChangeStamp): Promise<User> {
    const { store } = this.#deps;
    if ((await store.countOwners()) <= 1) throw lastOwner();
    const user = await this.#write(before, change, stamp);
    if ((await store.countOwners()) > 0) return user;
    await this.#write(user, { roles: before.roles, disabled: before.disabled }, stamp);
    throw lastOwner();
  }

  /**
   * The list of sign-in names is built from user name and e-mail together. An update is applied only if the other one
   * is unchanged since it was read.
   */
  async #write({ _id: id }: User, change: UserChange, stamp: ChangeStamp): Promise<User> {
    const { store } = this.#deps;
    const now = new Date(this.#now());
    if (!('username' in change || 'email' in change)) return existing(await store.change(id, change, stamp, now));
    for (let attempts = 1; attempts <= ATTEMPTS; attempts++) {
      const before = await this.get(id);
      const { username, email } = before;
      const names = signInNames({ ...before, ...change });
      // A name that the user already has is not checked again: it may be older than the rules for new names.
      const look = change.username == null || change.username === username ? {} : lookOf(change.username);
      const user = await store.change(id, { ...change, ...look, names }, stamp, now, { username, email });
      if (user !== null) return user;
    }
    throw new MillraceError('write-conflict', 'Too many requests are changing the names of this user');
  }
}

/** @throws MillraceError `invalid-body` */
function lookOf(username: string): Pick<User, 'skeleton'> {
  rejectMisleadingUsername(username);
  return { skeleton: usernameSkeleton(username) };
}

/** True for an enabled administrator with the role `owner`. */
function isAdmin({ kind, roles, disabled }: User): boolean {
  return kind === 'admin' && !disabled && roles.includes('owner');
}

function lastOwner(): MillraceError {
  return new MillraceError('last-owner', 'This is the last owner', {
    hint: 'Create another administrator first',
  });
}

function existing(user: User | null): User {
  if (user !== null) return user;
  throw new MillraceError('user-not-found', 'There is no such user');
}
