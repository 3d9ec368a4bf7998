/** Permissions of the signed-in user, from the server. Pages hide or disable the rest; the server decides. */
import { useResource, useSession } from './live.ts';

export interface Account {
  readonly id: string;
  readonly kind: 'user' | 'admin';
  readonly username: string | null;
  readonly email: string | null;
  readonly roles: readonly string[];
  readonly secondFactor: boolean;
}

export interface Rights {
  /** False until the server has identified the user. */
  readonly known: boolean;
  /** Can change policies, functions, webhooks, indexes and collections. */
  readonly build: boolean;
  /** Can read and change users, keys and settings. */
  readonly accounts: boolean;
  /** Can create and change administrators. */
  readonly owners: boolean;
  /** The reason, for the title of disabled elements. */
  readonly why: string;
}

/**
 * The signed-in user; undefined without one, or before it is known.
 * @param follows event types after which it is requested again, by all that use it
 */
export function useAccount(follows: readonly string[] = []): Account | undefined {
  const { state } = useSession();
  const { data } = useResource<Account | null>(state === 'open' ? '/dashboard/session' : '/auth/me', follows);
  return state === 'open' ? undefined : (data ?? undefined);
}

/** By the roles of administrators (docs/identity.md); without a user, development mode allows everything. */
export function useRights(): Rights {
  const { state } = useSession();
  const account = useAccount();
  if (state === 'open') return { known: true, build: true, accounts: true, owners: false, why: '' };
  const has = (...roles: string[]) => account?.kind === 'admin' && account.roles.some((role) => roles.includes(role));
  const build = has('owner', 'manager', 'developer');
  return {
    known: account !== undefined,
    build,
    accounts: has('owner', 'manager'),
    owners: has('owner'),
    why: build ? 'Only administrators with the role owner or manager can do this' : WHY_NOT[account?.kind ?? 'admin'],
  };
}

/** By the kind of the user. */
const WHY_NOT = {
  admin: 'Your role is viewer: read only',
  user: 'Only administrators can do this: you are signed in as a user',
};
