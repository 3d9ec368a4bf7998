/**
 * Accounts and their sessions, as those who run the installation see and change them. Every operation takes the Scope
 * that allows it. Owners are made and changed by owners alone. Not here: what an account is (auth/accounts/users.ts),
 * and what accounts do with themselves (auth/http).
 */
import type { NewUser, Users } from '../../auth/accounts/users.ts';
import type { Factors } from '../../auth/factors/factors.ts';
import type { Passkeys, ShownPasskey } from '../../auth/factors/passkeys.ts';
import { type Action, OWNER_ROLES, type Principal, stampBy } from '../../auth/identity/principal.ts';
import type { User } from '../../auth/identity/user.ts';
import type { FreshSignIns } from '../../auth/sign-in/fresh-sign-ins.ts';
import type { Sessions, ShownSession } from '../../auth/tokens/sessions.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Scope } from '../../policies/scope.ts';

type UserSearch = Parameters<Users['list']>[0];
type UserChanges = Parameters<Users['change']>[1];

/** The right to do something with the accounts and keys of others. */
export type AccountsScope<A extends Action> = Scope<A, 'admin:accounts'>;

export interface ManagedAccountsParts {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  /** Asked before owners are made, changed or deleted, and before a second factor is removed. */
  readonly fresh: FreshSignIns;
}

export class ManagedAccounts {
  readonly #users: Users;
  readonly #sessions: Sessions;
  readonly #factors: Factors;
  readonly #passkeys: Passkeys;
  readonly #fresh: FreshSignIns;

  constructor({ users, sessions, factors, passkeys, fresh }: ManagedAccountsParts) {
    this.#users = users;
    this.#sessions = sessions;
    this.#factors = factors;
    this.#passkeys = passkeys;
    this.#fresh = fresh;
  }

  /** @param after id of the last one of the page before */
  list(
    _scope: AccountsScope<'read'>,
    wanted: UserSearch,
    after: string | null,
    limit: number,
  ): Promise<readonly User[]> {
    return this.#users.list(wanted, after, limit);
  }

  /** @throws MillraceError `document-not-found` */
  get(_scope: AccountsScope<'read'>, id: string): Promise<User> {
    return this.#users.get(id);
  }

  /** @throws MillraceError `forbidden` and `fresh-sign-in-required` for an owner, `invalid-body`, and those of {@link Users.create} */
  async create(scope: AccountsScope<'create'>, wanted: NewUser, request: string): Promise<User> {
    const { kind = 'user', roles, username, email } = wanted;
    requireOwnerFor(scope.principal, kind);
    if (kind === 'owner') await this.#fresh.require(scope.principal);
    requireKnownRoles(kind, roles);
    if (username == null && email == null) {
      throw new MillraceError('invalid-body', 'An account needs a user name or an e-mail address');
    }
    return this.#users.create(wanted, stampBy(scope, request));
  }

  /** @throws MillraceError `forbidden` and `fresh-sign-in-required` for an owner, `invalid-body`, and those of {@link Users.change} */
  async change(scope: AccountsScope<'update'>, id: string, change: UserChanges, request: string): Promise<User> {
    const { kind } = await this.#reach(scope, id);
    if (kind === 'owner') await this.#fresh.require(scope.principal);
    requireKnownRoles(kind, change.roles);
    return this.#users.change(id, change, stampBy(scope, request));
  }

  /** @throws MillraceError `forbidden` and `fresh-sign-in-required` for an owner, `document-not-found`, `last-owner` */
  async remove(scope: AccountsScope<'delete'>, id: string, request: string): Promise<void> {
    const { kind } = await this.#reach(scope, id);
    if (kind === 'owner') await this.#fresh.require(scope.principal);
    await this.#users.remove(id, stampBy(scope, request));
  }

  /**
   * Removes the second factor of an account, for a user who has lost it.
   * @throws MillraceError `forbidden` for an owner, `fresh-sign-in-required`, `document-not-found`
   */
  async removeFactor(scope: AccountsScope<'delete'>, id: string, request: string): Promise<void> {
    await this.#reach(scope, id);
    await this.#fresh.require(scope.principal);
    await this.#factors.remove(id, stampBy(scope, request));
  }

  /** @throws MillraceError `document-not-found` */
  async passkeys(_scope: AccountsScope<'read'>, id: string): Promise<readonly ShownPasskey[]> {
    await this.#users.get(id);
    return this.#passkeys.list(id);
  }

  /**
   * Removes all passkeys of an account, for a user who has lost them.
   * @throws MillraceError `forbidden` for an owner, `fresh-sign-in-required`, `document-not-found`
   */
  async removePasskeys(scope: AccountsScope<'delete'>, id: string, request: string): Promise<void> {
    await this.#reach(scope, id);
    await this.#fresh.require(scope.principal);
    await this.#passkeys.removeAll(id, stampBy(scope, request));
  }

  /** @throws MillraceError `document-not-found` */
  async sessions({ principal }: AccountsScope<'read'>, id: string): Promise<readonly ShownSession[]> {
    await this.#users.get(id);
    return this.#sessions.list(id, 'session' in principal ? principal.session : null);
  }

  /** @throws MillraceError `forbidden` for an owner, `document-not-found` */
  async endSessions(scope: AccountsScope<'delete'>, id: string, request: string): Promise<void> {
    await this.#reach(scope, id);
    await this.#sessions.endAll(id, 'revoked', stampBy(scope, request));
  }

  /** @throws MillraceError `forbidden` for an owner, `document-not-found` for the account and for the session */
  async endSession(scope: AccountsScope<'delete'>, id: string, session: string, request: string): Promise<void> {
    await this.#reach(scope, id);
    if (await this.#sessions.end(session, id, 'revoked', stampBy(scope, request))) return;
    throw new MillraceError('document-not-found', 'There is no such session');
  }

  /** The account, if the principal may change accounts of its kind. */
  async #reach({ principal }: AccountsScope<'update' | 'delete'>, id: string): Promise<User> {
    const user = await this.#users.get(id);
    requireOwnerFor(principal, user.kind);
    return user;
  }
}

/** Without this an admin could make itself an owner, and so could anybody in development. */
function requireOwnerFor(principal: Principal, kind: User['kind']): void {
  if (kind === 'user' || (principal.kind === 'owner' && principal.roles.includes('owner'))) return;
  throw new MillraceError('forbidden', 'Only owners can make and change owners', {
    hint: 'The command `millrace owner` makes one',
  });
}

function requireKnownRoles(kind: User['kind'], roles: readonly string[] | undefined): void {
  const known: readonly string[] = OWNER_ROLES;
  const other = kind === 'owner' ? roles?.find((role) => !known.includes(role)) : undefined;
  if (other === undefined) return;
  throw new MillraceError('invalid-body', `'${other}' is not an owner role`, {
    hint: `Known: ${known.join(', ')}`,
    faults: [{ pointer: '/roles', code: 'invalid-body', detail: 'Not a role of owners' }],
  });
}
