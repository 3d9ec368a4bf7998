/**
 * Accounts as owners see and change them, and as users change their own. Not here: signing in (sign-in.ts), sessions
 * (sessions.ts), and rights (admin/, account-routes.ts).
 */
import { randomBytes } from 'node:crypto';
import { newId } from '../../database/json/ids.ts';
import { newMeta, type Stamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { ProviderIdentity } from '../identity/provider-identity.ts';
import { isUnproven, signInNames, type User } from '../identity/user.ts';
import type { KeptTokens } from '../providers/kept-tokens.ts';
import type { EndReason } from '../tokens/session.ts';
import type { Sessions } from '../tokens/sessions.ts';
import { requireOneScript, skeletonOf } from './look-alikes.ts';
import { checkPassword, type Passwords } from './passwords.ts';
import type { UserChange, UserSearch, UserStore } from './user-store.ts';

/** How often something is tried again because another request came first: each time, one of the requests succeeds. */
const TRIES = 100;

export interface NewUser extends Partial<Pick<User, 'kind' | 'username' | 'email' | 'roles' | 'claims' | 'profile'>> {
  /** Without a password and without an identity the account cannot sign in until a password is set by mail. */
  readonly password?: string;
  /** Whether the address is proved; only for callers that know it. */
  readonly emailVerified?: boolean;
  readonly identity?: ProviderIdentity;
}

export interface UsersParts {
  readonly store: UserStore;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly tokens: Pick<KeptTokens, 'forget'>;
  /** Where second factors and passkeys are kept; the result tells whether there were any. */
  readonly factors: readonly { removeAll(user: string): Promise<boolean | number> }[];
  /** Where the secrets of requests that are not finished are kept, such as links in letters. */
  readonly pending: { forgetAll(user: string): Promise<void> };
  /** Called with accounts whose rights changed in this process, before the request is answered. */
  readonly onChanged: (id: string) => void;
  readonly now?: () => number;
}

/** What an account let somebody do without being signed in, such as receive its events. */
export interface AccountGrants {
  /** @returns how many there were */
  removeAll(user: string, stamp: Stamp): Promise<number>;
}

export class Users {
  readonly #parts: UsersParts;
  readonly #now: () => number;
  readonly #grants = new Set<AccountGrants>();

  constructor(parts: UsersParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /**
   * Creates an account.
   * @param stamp its `by` is missing when the account creates itself
   * @throws MillraceError `invalid-body` for a user name that mixes scripts, `unique-violation`, `identity-taken`,
   *   `password-refused`
   */
  async create(
    { password, identity, emailVerified = false, ...wanted }: NewUser,
    stamp: Stamp | { readonly request: string },
  ): Promise<User> {
    const { kind = 'user', username = null, email = null, roles = [], claims = {}, profile = {} } = wanted;
    const id = newId().toHexString();
    const by = 'by' in stamp ? stamp : { by: `${kind}:${id}`, request: stamp.request };
    const names = signInNames({ _id: id, username, email });
    const account = { kind, username, email, emailVerified, names, roles, claims, profile, disabled: false };
    const look = username === null ? {} : lookOf(username);
    const identities = identity === undefined ? {} : { identities: [identity] };
    const user: User = { _id: id, ...account, ...look, ...identities, _meta: newMeta(by, new Date(this.#now())) };
    if (password !== undefined) {
      checkPassword(password, names);
      // Before the account is stored: a hash without an account does no harm, but an account without a hash cannot be
      // used.
      await this.#parts.passwords.set(id, password);
    }
    try {
      await this.#parts.store.insert(user);
    } catch (error) {
      await this.#parts.passwords.remove(id);
      throw error;
    }
    return user;
  }

  /** @throws MillraceError `document-not-found` */
  async get(id: string): Promise<User> {
    return existing(await this.find(id));
  }

  find(id: string): Promise<User | null> {
    return this.#parts.store.find(id);
  }

  /** @param name as it was typed, folded */
  byName(name: string): Promise<User | null> {
    return this.#parts.store.findByName(name);
  }

  /** @param identity its id */
  byIdentity(identity: string): Promise<User | null> {
    return this.#parts.store.findByIdentity(identity);
  }

  list(wanted: UserSearch, after: string | null, limit: number): Promise<User[]> {
    return this.#parts.store.list(wanted, after, limit);
  }

  /**
   * Changes an account.
   * @throws MillraceError `document-not-found`, `invalid-body` for a new user name that mixes scripts, `unique-violation`,
   *   `contention`, `last-owner`
   */
  async change(id: string, change: UserChange, stamp: Stamp): Promise<User> {
    const before = await this.get(id);
    const user = isOwner(before) && !isOwner({ ...before, ...change }) ? await this.#step(before, change, stamp) : null;
    const after = user ?? (await this.#write(before, change, stamp));
    this.#parts.onChanged(id);
    if (after.disabled) await this.#parts.sessions.endAll(id, 'user-disabled', stamp);
    return after;
  }

  /** @throws MillraceError `document-not-found`, `last-owner` */
  async remove(id: string, stamp: Stamp): Promise<void> {
    const before = await this.get(id);
    if (isOwner(before)) await this.#step(before, { disabled: true }, stamp);
    if (!(await this.#parts.store.remove(id, stamp))) existing(null);
    this.#parts.onChanged(id);
    await this.#parts.passwords.remove(id);
    for (const store of this.#parts.factors) await store.removeAll(id);
    await this.#parts.tokens.forget((before.identities ?? []).map((identity) => identity.id));
    await this.#parts.sessions.endAll(id, 'user-deleted', stamp);
  }

  /**
   * Sets a password and ends the sessions that were opened with the old one.
   * @param but a session that stays open
   * @param mark of the password that it replaces; undefined for whatever there is
   * @returns false when the password is not the marked one any more; then nothing changes
   * @throws MillraceError `password-refused`
   */
  async setPassword(
    { _id, names }: User,
    password: string,
    reason: EndReason,
    stamp: Stamp,
    { but, mark }: { readonly but?: string; readonly mark?: string | null } = {},
  ): Promise<boolean> {
    checkPassword(password, names);
    const { passwords, sessions } = this.#parts;
    if (mark === undefined) await passwords.set(_id, password);
    else if (!(await passwords.replace(_id, mark, password))) return false;
    await sessions.endAll(_id, reason, stamp, but);
    return true;
  }

  /**
   * Adds grants that end with everything else that was registered when the address of an account is proven.
   * @returns a function that takes them away again
   */
  endWithProof(grants: AccountGrants): () => void {
    this.#grants.add(grants);
    return () => this.#grants.delete(grants);
  }

  /**
   * Marks the address of an account as proven, for the person who reads its e-mails. If the account registered itself and its
   * address was never proven, somebody else may have registered it in wait for that person. So everything registered before
   * ends first: the password becomes one that nobody knows, and sessions, factors, identities, secrets of unfinished requests
   * and grants are removed.
   * @returns the account; its address is not proven when it was changed meanwhile
   * @throws MillraceError `document-not-found`, `contention`
   */
  async proveAddress({ _id: id, email }: User, stamp: Stamp): Promise<User> {
    const user = await this.get(id);
    if (user.emailVerified || user.email !== email) return user;
    // The address is marked last: when the process stops before, the next proof ends everything again.
    if (isUnproven(user)) await this.#endEverything(id, stamp);
    const change = { emailVerified: true };
    const proved = await this.#parts.store.change(id, change, stamp, new Date(this.#now()), { email });
    this.#parts.onChanged(id);
    return proved ?? this.get(id);
  }

  /**
   * Requests under way may add something after it was looked for, but each looks again for what admitted it. So this looks
   * until it finds nothing.
   */
  async #endEverything(id: string, stamp: Stamp): Promise<void> {
    const { passwords, sessions, tokens, factors, pending } = this.#parts;
    await passwords.set(id, randomBytes(32).toString('base64url'));
    for (let round = 1; round <= TRIES; round++) {
      let found = 0;
      for (const store of factors) found += Number(await store.removeAll(id));
      const { identities = [], secondFactor = false } = await this.get(id);
      await tokens.forget(identities.map((identity) => identity.id));
      if (identities.length > 0 || secondFactor) {
        found += 1;
        await this.change(id, { identities: [], secondFactor: false }, stamp);
      }
      for (const grants of this.#grants) found += await grants.removeAll(id, stamp);
      await pending.forgetAll(id);
      found += await sessions.endAll(id, 'password-reset', stamp);
      if (found === 0) return;
    }
    throw new MillraceError('contention', 'Too many requests are changing this account');
  }

  /**
   * A change after which an account is no longer an owner. Other owners are looked for before and after it: if two
   * owners remove each other at the same moment, both find the other one before, and none afterwards; then the change
   * is undone.
   */
  async #step(before: User, change: UserChange, stamp: Stamp): Promise<User> {
    const { store } = this.#parts;
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
  async #write({ _id: id }: User, change: UserChange, stamp: Stamp): Promise<User> {
    const { store } = this.#parts;
    const now = new Date(this.#now());
    if (!('username' in change || 'email' in change)) return existing(await store.change(id, change, stamp, now));
    for (let tries = 1; tries <= TRIES; tries++) {
      const before = await this.get(id);
      const { username, email } = before;
      const names = signInNames({ ...before, ...change });
      // A name that the account has already is not checked again: it may be older than the rules for new names.
      const look = change.username == null || change.username === username ? {} : lookOf(change.username);
      const user = await store.change(id, { ...change, ...look, names }, stamp, now, { username, email });
      if (user !== null) return user;
    }
    throw new MillraceError('contention', 'Too many requests are changing the names of this account');
  }
}

/** @throws MillraceError `invalid-body` */
function lookOf(username: string): Pick<User, 'skeleton'> {
  requireOneScript(username);
  return { skeleton: skeletonOf(username) };
}

/** True if an account counts as an owner of the installation. */
function isOwner({ kind, roles, disabled }: User): boolean {
  return kind === 'owner' && !disabled && roles.includes('owner');
}

function lastOwner(): MillraceError {
  return new MillraceError('last-owner', 'This is the last owner', { hint: 'Make another owner first' });
}

function existing(user: User | null): User {
  if (user !== null) return user;
  throw new MillraceError('document-not-found', 'There is no such account');
}
