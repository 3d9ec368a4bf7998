/**
 * The principal of a request: the identity that asks. Anonymous is a principal too, never `null`. Not here: how a
 * request proves it (authenticator.ts).
 */
import { actorText, type RequestStamp } from '../../database/system-collection.ts';
import { networkOf } from '../../kernel/config/addresses.ts';

/** The roles of owners, the accounts that administer this installation, from all rights to reading only. */
export const OWNER_ROLES = ['owner', 'admin', 'developer', 'viewer'] as const;

export type OwnerRole = (typeof OWNER_ROLES)[number];

/** What a principal may do at a place. */
export const ACTIONS = ['read', 'create', 'update', 'delete', 'call'] as const;

export type Action = (typeof ACTIONS)[number];

export interface Anonymous {
  readonly kind: 'anonymous';
}

/** An account, signed in. */
export interface UserPrincipal {
  readonly kind: 'user';
  readonly id: string;
  readonly roles: readonly string[];
  /** Facts about the account besides its roles, for `$user.claims.…` in policies. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Id of the session, which can be revoked. */
  readonly session: string;
  /** When the proof ends, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** An API key. */
export interface KeyPrincipal {
  readonly kind: 'key';
  readonly id: string;
  readonly roles: readonly string[];
  /** The collections it may reach at most; null is all of them. */
  readonly collections: readonly string[] | null;
  /** The actions it may do at most; null is all of them. */
  readonly actions: readonly string[] | null;
  /** When the key ends, in milliseconds since 1970; null is never. */
  readonly expiresAt: number | null;
}

/** An owner: an account that administers this installation, signed in. */
export interface OwnerPrincipal {
  readonly kind: 'owner';
  readonly id: string;
  readonly roles: readonly OwnerRole[];
  /** Has no second factor, where owners need one: it may only set one up, and has no role until then. */
  readonly lacksFactor?: true;
  readonly session: string;
  readonly expiresAt: number;
}

/**
 * A function of a plugin that acts as itself. Policies judge it by its roles and as authenticated. No role makes it an
 * owner, and nothing ends it: it has no credential, no session and no quota.
 */
export interface FunctionPrincipal {
  readonly kind: 'function';
  /** `plugin/name`. */
  readonly id: string;
  readonly roles: readonly string[];
}

/** The principal of a client: anonymous, an account, an API key, or an owner. */
export type ClientPrincipal = Anonymous | UserPrincipal | KeyPrincipal | OwnerPrincipal;

/** The principal of a client that has proved who it is. */
export type ProvenPrincipal = Exclude<ClientPrincipal, Anonymous>;

/** A principal: the one of a client, or a function. */
export type Principal = ClientPrincipal | FunctionPrincipal;

export const ANONYMOUS: Anonymous = Object.freeze({ kind: 'anonymous' });

/** The principal as it is stored with its changes: `user:u1`, or null for anonymous. */
export function actorOf(principal: Principal): string | null {
  return principal.kind === 'anonymous' ? null : actorText(principal.kind, principal.id);
}

/** The stamp of a change that a request makes. @param asker the request itself, or the Scope that allows the change */
export function stampBy({ principal }: { readonly principal: Principal }, request: string): RequestStamp {
  return { by: actorOf(principal), request };
}

/** The id that quotas count under; null for principals without quotas: owners, functions and
 * anonymous clients. */
export function quotaIdOf(principal: Principal): string | null {
  return principal.kind === 'user' || principal.kind === 'key' ? principal.id : null;
}

/** The text under which limits count a client: one principal, or all anonymous clients of one network. */
export function clientOf(principal: Principal, address: string): string {
  return actorOf(principal) ?? networkOf(address);
}
