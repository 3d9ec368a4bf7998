/** Users and their sessions as `/admin/users` returns them, and their labels. */

export interface ListedUser {
  readonly id: string;
  readonly kind: 'user' | 'admin';
  readonly username: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
  readonly profile: Readonly<Record<string, unknown>>;
  readonly disabled: boolean;
  /** Whether sign-in also requires a code. */
  readonly secondFactor: boolean;
  readonly createdAt: string;
}

export interface ListedSession {
  readonly id: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly ip: string;
  readonly userAgent: string | null;
  readonly current: boolean;
}

export interface ListedIdentity {
  readonly provider: string;
  readonly subject: string;
  readonly linkedAt: string;
}

/** Types of events that change a list of users. */
export const USER_EVENTS = ['system.user.*', 'system.identity.*'];

/** The display name of a user. */
export function nameOf({ username, email, id }: Pick<ListedUser, 'username' | 'email' | 'id'>): string {
  return username ?? email ?? id;
}

/** The roles of administrators, and their rights (docs/identity.md). */
export const ADMIN_ROLES = [
  { role: 'owner', may: 'Full access' },
  { role: 'manager', may: 'Everything except creating and changing administrators' },
  { role: 'developer', may: 'Data, files, events, policies, functions, webhooks; not users, keys and the audit log' },
  { role: 'viewer', may: 'Read-only access to what a developer sees' },
] as const;

/** Why the signed-in user cannot change an administrator. */
export const ADMINS_ONLY = 'Only administrators with the role owner can create and change administrators';
