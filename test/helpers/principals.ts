/**
 * Principals for tests of what they may do: each gets a credential that the authenticator of one app accepts without
 * proof. How credentials are verified is tested elsewhere.
 */
import type { PrincipalName } from '../../src/auth/authenticator.ts';
import type {
  KeyPrincipal,
  OwnerPrincipal,
  OwnerRole,
  Principal,
  UserPrincipal,
} from '../../src/auth/identity/principal.ts';
import type { Parts } from '../../src/parts.ts';

let made = 0;

const expiresAt = Number.MAX_SAFE_INTEGER;

export const user = (
  id: string,
  roles: readonly string[] = [],
  claims: Record<string, unknown> = {},
): UserPrincipal => ({
  kind: 'user',
  id,
  roles,
  claims,
  session: `s-${id}`,
  expiresAt,
});

export const key = (
  id: string,
  limits: Partial<Pick<KeyPrincipal, 'roles' | 'collections' | 'actions'>> = {},
): KeyPrincipal => ({
  kind: 'key',
  id,
  roles: [],
  collections: null,
  actions: null,
  expiresAt: null,
  ...limits,
});

export const owner = (...roles: OwnerRole[]): OwnerPrincipal => ({
  kind: 'owner',
  id: 'o1',
  roles: roles.length === 0 ? ['owner'] : roles,
  session: 's-o1',
  expiresAt,
});

/** Makes the app accept credentials for principals. Returns a function that gives the header for one. */
export function speakingAs(parts: Parts): (principal: Principal) => Record<string, string> {
  const known = new Map<string, Principal>();
  const headers = new Map<Principal, string>();
  const { authenticator } = parts.auth;
  const authenticate = authenticator.authenticate.bind(authenticator);
  const present = authenticator.present.bind(authenticator);
  const standing = authenticator.standing.bind(authenticator);
  Object.assign(authenticator, {
    authenticate: (header: string) => known.get(header) ?? authenticate(header),
    present: async (principal: Exclude<Principal, { kind: 'anonymous' }>) =>
      headers.has(principal) ? principal : present(principal),
    standing: async (name: PrincipalName) =>
      [...known.values()].find((one) => 'id' in one && one.kind === name.kind && one.id === name.id) ?? standing(name),
  });
  return (principal) => {
    if (principal.kind === 'anonymous') return {};
    const header = headers.get(principal) ?? `Bearer test-${made++}`;
    headers.set(principal, header);
    known.set(header, principal);
    return { authorization: header };
  };
}
