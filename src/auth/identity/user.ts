/**
 * A user of the application, or an administrator of the instance. Types and pure functions. It contains no secrets,
 * because every change of it is an event.
 */
import type { SystemDocumentMeta } from '../../database/system-collection.ts';
import { ADMIN_ROLES, type AdminRole, type RequestPrincipal } from './principal.ts';
import type { ProviderIdentity } from './provider-identity.ts';

export interface User {
  readonly _id: string;
  readonly kind: 'user' | 'admin';
  readonly username: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  /**
   * The names that sign-in finds it by: user name and e-mail, folded; unique among all users. A user with neither has a
   * name derived from its id, because the database accepts only one empty list.
   */
  readonly names: readonly string[];
  /**
   * The skeleton of the user name (users/look-alikes.ts); unique. Missing where there is none, or an older user has
   * it.
   */
  readonly skeleton?: string;
  readonly roles: readonly string[];
  /** Available to policies as `$user.claims`; only administrators set it. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Stored for the user; Millrace itself does not use it. */
  readonly profile: Readonly<Record<string, unknown>>;
  readonly disabled: boolean;
  /** Whether sign-in also requires a second factor; missing for no. The factor itself is a secret (mfa/). */
  readonly secondFactor?: boolean;
  /** The identities that sign in to it, one of each provider. Missing in users of earlier versions. */
  readonly identities?: readonly ProviderIdentity[];
  readonly _meta: SystemDocumentMeta;
}

/** The part of a user that responses contain. */
export interface UserView {
  readonly id: string;
  readonly kind: 'user' | 'admin';
  readonly username: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
  readonly profile: Readonly<Record<string, unknown>>;
  readonly disabled: boolean;
  readonly secondFactor: boolean;
  readonly createdAt: string;
}

export function toUserView({
  _id,
  names: _names,
  skeleton: _skeleton,
  identities: _identities,
  secondFactor: mfa = false,
  _meta,
  ...rest
}: User): UserView {
  return { id: _id, ...rest, secondFactor: mfa, createdAt: _meta.createdAt.toISOString() };
}

/** A sign-in name in its comparable form: without letter case, and in one Unicode form. */
export function normalizeSignInName(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

/**
 * Whether a user signed up and its e-mail address is not verified yet. Then it may not belong to the holder of the
 * address, so its ways to sign in cannot be trusted after the address is verified.
 */
export function isUnverifiedSignUp({ _id, kind, emailVerified, _meta }: User): boolean {
  return kind === 'user' && !emailVerified && _meta.createdBy === _id;
}

/** Whether a user has this e-mail address. */
export function userHasEmail({ email }: Pick<User, 'email'>, address: string): boolean {
  return email !== null && normalizeSignInName(email) === normalizeSignInName(address);
}

/** The names under which sign-in finds a user. */
export function signInNames({ _id, username, email }: Pick<User, '_id' | 'username' | 'email'>): string[] {
  const names = [...new Set([username, email].flatMap((name) => (name === null ? [] : [normalizeSignInName(name)])))];
  // Neither a user name nor an e-mail address contains a colon.
  return names.length > 0 ? names : [`id:${_id}`];
}

/** The user as a principal. */
export function toPrincipal(user: User, session: string, expiresAt: number): RequestPrincipal {
  const { _id: id, kind, roles, claims } = user;
  if (kind === 'admin') return Object.freeze({ kind, id, roles: adminRoles(roles), session, expiresAt });
  return Object.freeze({
    kind,
    id,
    roles: Object.freeze([...roles]),
    claims: Object.freeze(claims),
    session,
    expiresAt,
  });
}

/** The roles among these that administrators can have. */
function adminRoles(roles: readonly string[]): readonly AdminRole[] {
  return Object.freeze(ADMIN_ROLES.filter((role) => roles.includes(role)));
}
