/**
 * What a provider's claims mean for an account: whether the user is let in, and the profile, claims and roles that the
 * mapping takes from them. Pure. Not here: how claims are proved (the sign-in flows), storing what was taken.
 */
import type { Provider } from './provider.ts';

/** Largest value that is taken, and the largest sum of them, in bytes of JSON. */
const MAX_VALUE_BYTES = 4_096;
const MAX_BYTES = 8_192;

export type Claims = Readonly<Record<string, unknown>>;

/** What the mapping takes from claims. */
export interface Mapped {
  readonly profile: Claims;
  readonly claims: Claims;
  /** Roles that the claims give. */
  readonly roles: readonly string[];
  /** All roles that the mapping can give: an account that has one of them without being given it loses it. */
  readonly mappedRoles: readonly string[];
}

/** The first required claim that is missing or has another value; null when the user may come in. */
export function missingClaim({ require }: Pick<Provider, 'require'>, claims: Claims): string | null {
  for (const [name, wanted] of require) {
    const found = claimValues(claims, name);
    if (!wanted.some((value) => found.includes(value))) return name;
  }
  return null;
}

export function mapClaims({ mapping }: Pick<Provider, 'mapping'>, claims: Claims): Mapped {
  const { roles } = mapping;
  const values = roles === null ? {} : roles.values;
  const given = roles === null ? [] : claimValues(claims, roles.claim).map(String);
  return {
    profile: taken(mapping.profile, claims),
    claims: taken(mapping.claims, claims),
    roles: unique(given.flatMap((value) => (Object.hasOwn(values, value) ? (values[value] ?? []) : []))),
    mappedRoles: unique(Object.values(values).flat()),
  };
}

/** The roles of an account after a mapping: those that were given by hand stay. */
export function rolesAfter(current: readonly string[], { roles, mappedRoles }: Mapped): readonly string[] {
  return unique([...current.filter((role) => !mappedRoles.includes(role)), ...roles]);
}

/** Values that are not texts, numbers, booleans or lists of them are left out, and what is too large. */
function taken(members: Readonly<Record<string, string>>, claims: Claims): Claims {
  let bytes = 0;
  const kept = Object.entries(members).flatMap(([member, name]) => {
    const value = claimOf(claims, name);
    if (!isScalar(value) && !(Array.isArray(value) && value.every(isScalar))) return [];
    const size = Buffer.byteLength(JSON.stringify(value));
    if (size > MAX_VALUE_BYTES || bytes + size > MAX_BYTES) return [];
    bytes += size;
    return [[member, value] as const];
  });
  return Object.fromEntries(kept);
}

/** A claim by its name, or by a JSON Pointer; undefined when there is none. */
function claimOf(claims: Claims, name: string): unknown {
  if (!name.startsWith('/')) return Object.hasOwn(claims, name) ? claims[name] : undefined;
  let value: unknown = claims;
  for (const part of name.slice(1).split('/')) {
    const member = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined;
    value = Reflect.get(value, member);
  }
  return value;
}

/** A claim as the list of its values. */
function claimValues(claims: Claims, name: string): readonly (string | number | boolean)[] {
  return [claimOf(claims, name)].flat().filter(isScalar);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
