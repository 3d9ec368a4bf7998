/**
 * An account: of a user of the application, or of an owner of the installation. Shapes and pure functions. It holds no
 * secrets, because every change of it is an event. Not here: where it is kept (user-store.ts).
 */
import type { OwnMeta } from '../../database/system-collection.ts';
import { type ClientPrincipal, OWNER_ROLES, type OwnerRole } from './principal.ts';
import type { ProviderIdentity } from './provider-identity.ts';

export interface User {
  readonly _id: string;
  readonly kind: 'user' | 'owner';
  readonly username: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  /**
   * The names that sign-in finds it by: user name and e-mail, folded; unique among all accounts. One that has neither has
   * a name made of its id, because the database takes one empty list only.
   */
  readonly names: readonly string[];
  /** What the user name looks like (accounts/look-alikes.ts); unique. Missing where there is none, or an older account has it. */
  readonly skeleton?: string;
  readonly roles: readonly string[];
  /** Available to policies as `$user.claims`; set by owners only. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Kept for the user; Millrace itself does not use it. */
  readonly profile: Readonly<Record<string, unknown>>;
  readonly disabled: boolean;
  /** Whether sign-in asks for a second factor, too; missing for no. The factor itself is a secret (factors/). */
  readonly secondFactor?: boolean;
  /** The identities that it is signed in by, one of each provider. Missing in accounts of earlier versions. */
  readonly identities?: readonly ProviderIdentity[];
  readonly _meta: OwnMeta;
}

/** The part of an account that answers show. */
export interface ShownUser {
  readonly id: string;
  readonly kind: 'user' | 'owner';
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

export function toShown({
  _id,
  names: _names,
  skeleton: _skeleton,
  identities: _identities,
  secondFactor = false,
  _meta,
  ...rest
}: User): ShownUser {
  return { id: _id, ...rest, secondFactor, createdAt: _meta.createdAt.toISOString() };
}

/** A sign-in name in the form that is compared: without letter case, and in one Unicode form. */
export function foldName(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

/**
 * Whether an account registered itself and its address is not proven yet. Then whoever registered it may not be the holder
 * of the address, so nothing that signs in to it can be trusted after the address is proven.
 */
export function isUnproven({ _id, kind, emailVerified, _meta }: User): boolean {
  return kind === 'user' && !emailVerified && _meta.createdBy === _id;
}

/** Whether an account has this address. */
export function isAddressOf({ email }: Pick<User, 'email'>, address: string): boolean {
  return email !== null && foldName(email) === foldName(address);
}

/** The names under which sign-in finds an account. */
export function signInNames({ _id, username, email }: Pick<User, '_id' | 'username' | 'email'>): string[] {
  const names = [...new Set([username, email].flatMap((name) => (name === null ? [] : [foldName(name)])))];
  // Neither a user name nor an address holds a colon.
  return names.length > 0 ? names : [`id:${_id}`];
}

/** The account as a principal. */
export function toPrincipal(user: User, session: string, expiresAt: number): ClientPrincipal {
  const { _id: id, kind, roles, claims } = user;
  if (kind === 'owner') return Object.freeze({ kind, id, roles: ownerRoles(roles), session, expiresAt });
  return Object.freeze({
    kind,
    id,
    roles: Object.freeze([...roles]),
    claims: Object.freeze(claims),
    session,
    expiresAt,
  });
}

/** The roles among these that owners can have. */
function ownerRoles(roles: readonly string[]): readonly OwnerRole[] {
  return Object.freeze(OWNER_ROLES.filter((role) => roles.includes(role)));
}
