/** Accounts and their sessions as `/admin/users` sends them, and the words that pages have for them. */

export interface ListedUser {
  readonly id: string;
  readonly kind: 'user' | 'owner';
  readonly username: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
  readonly profile: Readonly<Record<string, unknown>>;
  readonly disabled: boolean;
  /** Whether sign-in asks for a code, too. */
  readonly secondFactor: boolean;
  readonly createdAt: string;
}

export interface ListedSession {
  readonly id: string;
  readonly createdAt: string;
  readonly usedAt: string | null;
  readonly address: string;
  readonly agent: string | null;
  readonly current: boolean;
}

export interface ListedIdentity {
  readonly provider: string;
  readonly subject: string;
  readonly joinedAt: string;
}

/** Types of events after which a list of accounts is another one. */
export const USER_EVENTS = ['system.user.*', 'system.identity.*'];

/** What people call an account. */
export function nameOf({ username, email, id }: Pick<ListedUser, 'username' | 'email' | 'id'>): string {
  return username ?? email ?? id;
}

/** The roles of owners, and what each may do (docs/identity.md). */
export const OWNER_ROLES = [
  { role: 'owner', may: 'Everything' },
  { role: 'admin', may: 'Everything but making and changing owners' },
  { role: 'developer', may: 'Data, files, events, policies, functions, webhooks; not accounts, keys and the audit' },
  { role: 'viewer', may: 'Look at what a developer sees; change nothing' },
] as const;

/** Why a person cannot change an owner. */
export const OWNERS_ONLY = 'Only an account with the role owner can make and change owners';
