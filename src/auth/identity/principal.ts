/** The principal of a request: its authenticated identity. Anonymous is a principal too, never `null`. */
import { clientNetwork } from '../../config/addresses.ts';
import { actorText, type RequestStamp } from '../../database/system-collection.ts';

/** The roles of administrators, from all rights to reading only. */
export const ADMIN_ROLES = ['owner', 'manager', 'developer', 'viewer'] as const;

export type AdminRole = (typeof ADMIN_ROLES)[number];

/** What a principal may do with a resource. */
export const RESOURCE_ACTIONS = ['read', 'create', 'update', 'delete', 'call'] as const;

export type ResourceAction = (typeof RESOURCE_ACTIONS)[number];

export interface Anonymous {
  readonly kind: 'anonymous';
}

/** A signed-in user. */
export interface UserPrincipal {
  readonly kind: 'user';
  readonly id: string;
  readonly roles: readonly string[];
  /** Facts about the user besides its roles, for `$user.claims.…` in policies. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Id of the session, which can be revoked. */
  readonly session: string;
  /** When the credential expires, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** An API key. */
export interface KeyPrincipal {
  readonly kind: 'key';
  readonly id: string;
  readonly roles: readonly string[];
  /** The maximum of collections it may reach; null is all of them. */
  readonly resources: readonly string[] | null;
  /** The maximum of actions it may do; null is all of them. */
  readonly actions: readonly string[] | null;
  /** When the key expires, in milliseconds since 1970; null is never. */
  readonly expiresAt: number | null;
}

/** A signed-in administrator of this instance. */
export interface AdminPrincipal {
  readonly kind: 'admin';
  readonly id: string;
  readonly roles: readonly AdminRole[];
  /** True without a second factor where administrators need one: it may only enroll, and has no role until then. */
  readonly needsMfaEnrollment?: true;
  readonly session: string;
  readonly expiresAt: number;
}

/**
 * A function of a plugin that acts as itself. Policies judge it by its roles and as authenticated. No role makes it an
 * administrator, and nothing ends it: it has no credential, no session and no quota.
 */
export interface FunctionPrincipal {
  readonly kind: 'function';
  /** `plugin/name`. */
  readonly id: string;
  readonly roles: readonly string[];
}

/** The principal of a client: anonymous, a user, an API key, or an administrator. */
export type RequestPrincipal = Anonymous | UserPrincipal | KeyPrincipal | AdminPrincipal;

/** The principal of an authenticated client. */
export type AuthenticatedPrincipal = Exclude<RequestPrincipal, Anonymous>;

/** A principal: the one of a client, or a function. */
export type Principal = RequestPrincipal | FunctionPrincipal;

export const ANONYMOUS: Anonymous = Object.freeze({ kind: 'anonymous' });

/** The principal as it is stored with its changes: `user:u1`, or null for anonymous. */
export function toActorId(principal: Principal): string | null {
  return principal.kind === 'anonymous' ? null : actorText(principal.kind, principal.id);
}

/** The stamp of a change that a request makes. @param asker the request itself, or the Scope that allows the change */
export function stampFromPrincipal({ principal }: { readonly principal: Principal }, request: string): RequestStamp {
  return { by: toActorId(principal), request };
}

/** The id that quotas count under; null for principals without quotas: administrators, functions and
 * anonymous clients. */
export function quotaIdOf(principal: Principal): string | null {
  return principal.kind === 'user' || principal.kind === 'key' ? principal.id : null;
}

/** The key under which limits count a client: one principal, or all anonymous clients of one network. */
export function clientLimitKey(principal: Principal, address: string): string {
  return toActorId(principal) ?? clientNetwork(address);
}
