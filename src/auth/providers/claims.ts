/**
 * Applies a provider's claims to a user: whether the user is admitted, and the profile, claims and roles that the
 * mapping takes from them. Pure.
 */
import type { Provider } from './provider.ts';

/** Maximum size of a value, and of their sum, in bytes of JSON. */
const MAX_VALUE_BYTES = 4_096;
const MAX_BYTES = 8_192;

export type Claims = Readonly<Record<string, unknown>>;

/** What the mapping takes from claims. */
export interface MappedClaims {
  readonly profile: Claims;
  readonly claims: Claims;
  /** Roles that the claims grant. */
  readonly roles: readonly string[];
  /** All roles that the mapping can grant: a user that has one of them without a grant loses it. */
  readonly mappedRoles: readonly string[];
}

/** The first required claim that is missing or has another value; null when the user is admitted. */
export function findMissingClaim({ require }: Pick<Provider, 'require'>, claims: Claims): string | null {
  for (const [name, requested] of require) {
    const found = claimValues(claims, name);
    if (!requested.some((value) => found.includes(value))) return name;
  }
  return null;
}

export function mapClaims({ mapping }: Pick<Provider, 'mapping'>, claims: Claims): MappedClaims {
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

/** The roles of a user after a mapping: those that were granted by hand stay. */
export function mergeMappedRoles(current: readonly string[], { roles, mappedRoles }: MappedClaims): readonly string[] {
  return unique([...current.filter((role) => !mappedRoles.includes(role)), ...roles]);
}

/** Values other than strings, numbers, booleans or lists of them are dropped, and values that are too large. */
function taken(fields: Readonly<Record<string, string>>, claims: Claims): Claims {
  let bytes = 0;
  const kept = Object.entries(fields).flatMap(([field, name]) => {
    const value = claimOf(claims, name);
    if (!isScalar(value) && !(Array.isArray(value) && value.every(isScalar))) return [];
    const size = Buffer.byteLength(JSON.stringify(value));
    if (size > MAX_VALUE_BYTES || bytes + size > MAX_BYTES) return [];
    bytes += size;
    return [[field, value] as const];
  });
  return Object.fromEntries(kept);
}

/** A claim by its name, or by a JSON Pointer; undefined when there is none. */
function claimOf(claims: Claims, name: string): unknown {
  if (!name.startsWith('/')) return Object.hasOwn(claims, name) ? claims[name] : undefined;
  let value: unknown = claims;
  for (const part of name.slice(1).split('/')) {
    const field = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return undefined;
    value = Reflect.get(value, field);
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
