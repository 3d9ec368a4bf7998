/**
 * Users and their sessions, for administrators. Every operation takes the Scope that allows it. Only administrators
 * create and change administrators.
 */
import { MillraceError } from '../../lib/errors.ts';
import type { Scope } from '../../policies/scope.ts';
import { ADMIN_ROLES, type Principal, type ResourceAction, stampFromPrincipal } from '../identity/principal.ts';
import type { User } from '../identity/user.ts';
import type { Factors } from '../mfa/totp-factor.ts';
import type { Passkeys, PasskeyView } from '../passkeys/passkeys.ts';
import type { Sessions, SessionView } from '../sessions/sessions.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import type { NewUser, Users } from '../users/users.ts';

type UserSearch = Parameters<Users['list']>[0];
type UserChanges = Parameters<Users['change']>[1];

/** The right to do something with the users and keys of others. */
export type ManageAccountsScope<A extends ResourceAction> = Scope<A, '_admin:accounts'>;

export interface ManagedUsersDeps {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  /** Required before administrators are created, changed or deleted, and before a second factor is removed. */
  readonly reauthentication: Reauthentication;
}

export class ManagedUsers {
  readonly #users: Users;
  readonly #sessions: Sessions;
  readonly #factors: Factors;
  readonly #passkeys: Passkeys;
  readonly #reauthentication: Reauthentication;

  constructor({ users, sessions, factors, passkeys, reauthentication }: ManagedUsersDeps) {
    this.#users = users;
    this.#sessions = sessions;
    this.#factors = factors;
    this.#passkeys = passkeys;
    this.#reauthentication = reauthentication;
  }

  /** @param after id of the last one of the previous page */
  list(
    _scope: ManageAccountsScope<'read'>,
    requested: UserSearch,
    after: string | null,
    limit: number,
  ): Promise<readonly User[]> {
    return this.#users.list(requested, after, limit);
  }

  /** @throws MillraceError `session-not-found` */
  get(_scope: ManageAccountsScope<'read'>, id: string): Promise<User> {
    return this.#users.get(id);
  }

  /** @throws MillraceError `forbidden` and `reauthentication-required` for an administrator, `invalid-body`, and those of {@link Users.create} */
  async create(scope: ManageAccountsScope<'create'>, requested: NewUser, request: string): Promise<User> {
    const { kind = 'user', roles, username, email } = requested;
    requireAdminFor(scope.principal, kind);
    if (kind === 'admin') await this.#reauthentication.require(scope.principal);
    requireKnownRoles(kind, roles);
    if (username == null && email == null) {
      throw new MillraceError('invalid-body', 'A user needs a user name or an e-mail address');
    }
    return this.#users.create(requested, stampFromPrincipal(scope, request));
  }

  /** @throws MillraceError `forbidden` and `reauthentication-required` for an administrator, `invalid-body`, and those of {@link Users.change} */
  async change(scope: ManageAccountsScope<'update'>, id: string, change: UserChanges, request: string): Promise<User> {
    const { kind } = await this.#requireManageable(scope, id);
    if (kind === 'admin') await this.#reauthentication.require(scope.principal);
    requireKnownRoles(kind, change.roles);
    return this.#users.change(id, change, stampFromPrincipal(scope, request));
  }

  /** @throws MillraceError `forbidden` and `reauthentication-required` for an administrator, `session-not-found`, `last-owner` */
  async remove(scope: ManageAccountsScope<'delete'>, id: string, request: string): Promise<void> {
    const { kind } = await this.#requireManageable(scope, id);
    if (kind === 'admin') await this.#reauthentication.require(scope.principal);
    await this.#users.remove(id, stampFromPrincipal(scope, request));
  }

  /**
   * Removes the second factor of an account, for a user who has lost it.
   * @throws MillraceError `forbidden` for an administrator, `reauthentication-required`, `session-not-found`
   */
  async removeFactor(scope: ManageAccountsScope<'delete'>, id: string, request: string): Promise<void> {
    await this.#requireManageable(scope, id);
    await this.#reauthentication.require(scope.principal);
    await this.#factors.remove(id, stampFromPrincipal(scope, request));
  }

  /** @throws MillraceError `session-not-found` */
  async passkeys(_scope: ManageAccountsScope<'read'>, id: string): Promise<readonly PasskeyView[]> {
    await this.#users.get(id);
    return this.#passkeys.list(id);
  }

  /**
   * Removes all passkeys of an account, for a user who has lost them.
   * @throws MillraceError `forbidden` for an administrator, `reauthentication-required`, `session-not-found`
   */
  async removePasskeys(scope: ManageAccountsScope<'delete'>, id: string, request: string): Promise<void> {
    await this.#requireManageable(scope, id);
    await this.#reauthentication.require(scope.principal);
    await this.#passkeys.removeAll(id, stampFromPrincipal(scope, request));
  }

  /** @throws MillraceError `session-not-found` */
  async sessions({ principal }: ManageAccountsScope<'read'>, id: string): Promise<readonly SessionView[]> {
    await this.#users.get(id);
    return this.#sessions.list(id, 'session' in principal ? principal.session : null);
  }

  /** @throws MillraceError `forbidden` for an administrator, `session-not-found` */
  async endSessions(scope: ManageAccountsScope<'delete'>, id: string, request: string): Promise<void> {
    await this.#requireManageable(scope, id);
    await this.#sessions.endAll(id, 'revoked', stampFromPrincipal(scope, request));
  }

  /** @throws MillraceError `forbidden` for an administrator, `session-not-found` for the account and for the session */
  async endSession(scope: ManageAccountsScope<'delete'>, id: string, session: string, request: string): Promise<void> {
    await this.#requireManageable(scope, id);
    if (await this.#sessions.end(session, id, 'revoked', stampFromPrincipal(scope, request))) return;
    throw new MillraceError('session-not-found', 'There is no such session');
  }

  /** The user, if the principal may change users of its kind. */
  async #requireManageable({ principal }: ManageAccountsScope<'update' | 'delete'>, id: string): Promise<User> {
    const user = await this.#users.get(id);
    requireAdminFor(principal, user.kind);
    return user;
  }
}

/** Without this a non-owner could create an administrator for itself, and so could any client in development. */
function requireAdminFor(principal: Principal, kind: User['kind']): void {
  if (kind === 'user' || (principal.kind === 'admin' && principal.roles.includes('owner'))) return;
  throw new MillraceError('forbidden', 'Only administrators can create and change administrators', {
    hint: 'The command `millrace admin` creates one',
  });
}

function requireKnownRoles(kind: User['kind'], roles: readonly string[] | undefined): void {
  const known: readonly string[] = ADMIN_ROLES;
  const other = kind === 'admin' ? roles?.find((role) => !known.includes(role)) : undefined;
  if (other === undefined) return;
  throw new MillraceError('invalid-body', `'${other}' is not an administrator role`, {
    hint: `Known: ${known.join(', ')}`,
    issues: [{ pointer: '/roles', code: 'invalid-body', detail: 'Not a role of administrators' }],
  });
}
