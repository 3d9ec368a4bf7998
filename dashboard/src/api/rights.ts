/** What the person at the dashboard may do, as the server says it. Pages hide or disable the rest; the server decides. */
import { useResource, useSession } from './live.ts';

export interface Account {
  readonly id: string;
  readonly kind: 'user' | 'owner';
  readonly username: string | null;
  readonly email: string | null;
  readonly roles: readonly string[];
  readonly secondFactor: boolean;
}

export interface Rights {
  /** False until the server has said who the person is. */
  readonly known: boolean;
  /** May change what is built: policies, functions, webhooks, indexes, collections. */
  readonly build: boolean;
  /** May read and change accounts, keys and settings. */
  readonly accounts: boolean;
  /** May make and change owners. */
  readonly owners: boolean;
  /** Why not, for the title of what is disabled. */
  readonly why: string;
}

/**
 * The account of the person; undefined without one, or before it is known.
 * @param follows types of events after which it is asked for again, by all that use it
 */
export function useAccount(follows: readonly string[] = []): Account | undefined {
  const { state } = useSession();
  const { data } = useResource<Account | null>(state === 'open' ? '/dashboard/session' : '/auth/me', follows);
  return state === 'open' ? undefined : (data ?? undefined);
}

/** By the roles of owners (docs/identity.md); whoever comes without an account in development mode may do everything. */
export function useRights(): Rights {
  const { state } = useSession();
  const account = useAccount();
  if (state === 'open') return { known: true, build: true, accounts: true, owners: false, why: '' };
  const has = (...roles: string[]) => account?.kind === 'owner' && account.roles.some((role) => roles.includes(role));
  const build = has('owner', 'admin', 'developer');
  return {
    known: account !== undefined,
    build,
    accounts: has('owner', 'admin'),
    owners: has('owner'),
    why: build ? 'Owners and admins may do this' : WHY_NOT[account?.kind ?? 'owner'],
  };
}

/** By the kind of the account. */
const WHY_NOT = {
  owner: 'You may look, but not change: your role is viewer',
  user: 'Only owners may do this: your account is that of a user',
};
